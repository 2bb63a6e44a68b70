#include "server/admin/fleet_events_api.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <pqxx/pqxx>

#include "server/admin/fleet_images.hpp"
#include "server/admin/paging.hpp"
#include "server/http/refusal.hpp"

namespace sluice::server::admin {
namespace {

constexpr std::array<std::string_view, 1> kOnly{"enforcement"};

std::optional<std::int64_t> read_revision(const Call& call) {
  const std::string_view text = call.parameter("revision");
  if (text.empty()) return std::nullopt;
  std::int64_t revision = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), revision);
  if (error != std::errc{} || end != text.data() + text.size() || revision < 0) {
    http::refuse_fault(400, "?revision", "revision is a whole number, such as the Sluice-Revision of a change");
  }
  return revision;
}

// Everything that decides which agents are in an image.
std::string image_key(const Context& context, bool with_agents) {
  const auth::Principal& caller = context.principal;
  return fmt::format("{}/{}?{}&{}&{}", caller.organization_id, fmt::join(caller.tenant_ids, ","),
                     context.call.parameter("organization_id"), context.call.parameter("tenant_id"), with_agents);
}

ReadFleet read_fleet(Context& context, bool with_agents) {
  ReadFleet fleet;
  fleet.newest = context.tx.exec_text("SELECT revision FROM revision")[0][0].as<std::int64_t>();
  if (with_agents) {
    const pqxx::result rows = known_agents(context.call, fmt::format("a.agent_id || ' ' || a.scope, {}, {}, {}",
                                                                     agent_identity(), agent_document(), agent_mark()))
                                  .run(context.tx);
    fleet.agents.reserve(static_cast<std::size_t>(rows.size()));
    for (const auto& row : rows) {
      fleet.agents.push_back(
          {.key = row[0].c_str(), .identity = row[1].c_str(), .document = row[2].c_str(), .mark = row[3].c_str()});
    }
    std::ranges::sort(fleet.agents, {}, &ReadAgent::key);
  }
  fleet.groups = read_enforcement(context);
  return fleet;
}

}  // namespace

Answer follow_fleet(Context& context) {
  FollowedFleet followed;
  followed.token_id = context.principal.token_id;
  followed.revision = read_revision(context.call);
  if (const std::string_view only = context.call.parameter("only"); !only.empty()) {
    check_choice("only", only, kOnly);
    followed.agents = false;
  }
  followed.image = context.fleet_images.get(
      image_key(context, followed.agents), followed.revision.value_or(0),
      [&] { return read_fleet(context, followed.agents); }, [] { return std::chrono::steady_clock::now(); });
  if (followed.revision && *followed.revision > followed.image->newest()) {
    http::refuse_unknown("revision", context.call.parameter("revision"));
  }
  Answer answer;
  answer.fleet = std::move(followed);
  return answer;
}

}  // namespace sluice::server::admin
