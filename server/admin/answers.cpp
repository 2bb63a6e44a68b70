#include "server/admin/answers.hpp"

#include <utility>

#include <fmt/core.h>

namespace sluice::server::admin {
namespace {

// Replays (call.hpp) get a placeholder instead of the secret.
enum class Show : std::uint8_t { secret, placeholder };

std::string close_object(const Answer& answer, const Outcome& outcome, Show show) {
  json::Writer out = *answer.object;
  if (answer.secret && show == Show::secret) out.field(answer.secret->member, answer.secret->text);
  if (answer.secret && show == Show::placeholder) {
    out.null_field(answer.secret->member);
    out.field("secret_already_shown", true);
  }
  if (outcome.revision) out.field("revision", *outcome.revision);
  if (answer.published) out.field("published", *answer.published && outcome.published);
  out.end_object();
  return out.take();
}

}  // namespace

json::Writer open_object() {
  json::Writer object(json::Writer::Layout::compact);
  object.begin_object();
  return object;
}

FinishedAnswer finish(const Answer& answer, const Outcome& outcome) {
  FinishedAnswer finished(answer);
  finished.wait = answer.wait;
  finished.secret_headers = answer.secret_headers;
  finished.agent_check = answer.agent_check;
  finished.resume = answer.resume;
  finished.fleet = answer.fleet;
  if (answer.object) finished.body = close_object(answer, outcome, Show::secret);
  finished.replay_body = answer.secret ? close_object(answer, outcome, Show::placeholder) : finished.body;
  if (outcome.revision) finished.headers += fmt::format("Sluice-Revision: {}\r\n", *outcome.revision);
  return finished;
}

}  // namespace sluice::server::admin
