#include "server/playground/agent_calls.hpp"

#include <utility>

#include <fmt/core.h>

#include "server/http/refusal.hpp"

namespace sluice::server::playground {
namespace {

using std::chrono::duration_cast;
using std::chrono::microseconds;
using std::chrono::steady_clock;

http_client::Options client_options(const Setup& setup) {
  return {.server = setup.agent,
          .tls = {.ca = setup.tls_ca},
          .connect_timeout = AgentCalls::kConnect,
          .head_timeout = AgentCalls::kPatience,
          .idle_timeout = AgentCalls::kPatience,
          .user_agent = "sluice-server playground"};
}

http::Refusal busy(std::size_t most, std::string_view whose) {
  return {429,
          "rate-limited",
          fmt::format("At most {} checks {} may be in flight at a time. The check was not made.", most, whose),
          {},
          "Retry-After: 1\r\n"};
}

// The caller may be anybody, so the text does not name the agent's address; the log does.
http::Refusal unavailable(const Error& error) {
  const bool sent = error.code == "timeout" || error.code == "disconnected" || error.code == "framing";
  return {
      503,
      "playground-unavailable",
      fmt::format("The agent of the playground did not answer ({}). {} Try again: the server asks it anew each time.",
                  error.code, sent ? "The check may have been counted." : "The check was not made."),
      {},
      "Retry-After: 1\r\n"};
}

}  // namespace

struct AgentCalls::Place {
  Place(boost::asio::io_context& loop, const http_client::Options& options) : client(loop, options) {}

  http_client::Client client;
  std::string caller;
  std::string request_id;
  Time arrived;
  Time sent;
  Done done;
};

AgentCalls::AgentCalls(boost::asio::io_context& loop, const Setup& setup, telemetry::Log& log)
    : loop_(loop), options_(client_options(setup)), log_(log) {}

AgentCalls::~AgentCalls() = default;

AgentCalls::Place& AgentCalls::take_place(const std::string& caller) {
  if (idle_.empty()) {
    places_.push_back(std::make_unique<Place>(loop_, options_));
    idle_.push_back(places_.back().get());
  }
  Place& place = *idle_.back();
  idle_.pop_back();
  place.caller = caller;
  ++of_caller_[caller];
  statistics_.in_flight.fetch_add(1, std::memory_order_relaxed);
  return place;
}

void AgentCalls::ask(const AgentCheck& check, const std::string& request_id, Time arrived, Done done) {
  const auto found = of_caller_.find(check.caller);
  const bool caller_full = found != of_caller_.end() && found->second >= kMostOfCaller;
  if (caller_full || places_.size() - idle_.size() >= kMost) {
    statistics_.refused.fetch_add(1, std::memory_order_relaxed);
    return done(http::problem(caller_full ? busy(kMostOfCaller, "of one caller") : busy(kMost, "of the playground"),
                              request_id));
  }
  Place& place = take_place(check.caller);
  place.request_id = request_id;
  place.arrived = arrived;
  place.sent = steady_clock::now();
  place.done = std::move(done);
  place.client.send(request_of(check),
                    [this, &place](const Result<http_client::Response>& result) { finish(place, result); });
}

// Gives the place back first, because `done` may ask again.
void AgentCalls::finish(Place& place, const Result<http_client::Response>& result) {
  const auto of = of_caller_.find(place.caller);
  if (--of->second == 0) of_caller_.erase(of);
  statistics_.in_flight.fetch_sub(1, std::memory_order_relaxed);
  (result ? statistics_.answered : statistics_.failed).fetch_add(1, std::memory_order_relaxed);
  note(result);
  http::Answer answer = answer_of(place, result);
  const Done done = std::exchange(place.done, nullptr);
  idle_.push_back(&place);
  done(std::move(answer));
}

http::Answer AgentCalls::answer_of(const Place& place, const Result<http_client::Response>& result) {
  if (!result) return http::problem(unavailable(result.error()), place.request_id);
  const auto now = steady_clock::now();
  http::Answer answer;
  answer.body = answer_json(*result, duration_cast<microseconds>(now - place.sent),
                            duration_cast<microseconds>(now - place.arrived));
  return answer;
}

// One line when the agent goes, and one when it is back.
void AgentCalls::note(const Result<http_client::Response>& result) {
  if (!result && !away_) {
    log_.warn("playground_agent_away", "The agent of the playground does not answer; its checks are answered 503.",
              {{"code", result.error().code}, {"reason", result.error().text}});
  }
  if (result && away_) log_.info("playground_agent_back", "The agent of the playground answers again.");
  away_ = !result;
}

}  // namespace sluice::server::playground
