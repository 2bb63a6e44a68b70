#include "server/sync/request.hpp"

#include <algorithm>
#include <initializer_list>
#include <map>
#include <utility>

#include <fmt/core.h>

#include "common/base/text.hpp"
#include "common/http/query.hpp"
#include "common/json/fields.hpp"
#include "common/sync/report.hpp"
#include "common/sync/snapshot_document.hpp"
#include "server/http/field_list.hpp"
#include "server/http/refusal.hpp"

namespace sluice::server::sync {
namespace {

std::string_view method_of(std::string_view name) { return name.substr(0, name.find(' ')); }
std::string_view path_of(std::string_view name) { return name.substr(name.find(' ') + 1); }

bool has_word(std::string_view list, std::string_view lower) {
  while (!list.empty()) {
    if (http::same_word(http::cut(list, ','), lower)) return true;
  }
  return false;
}

using Parameters = std::map<std::string, std::string, std::less<>>;

// An agent of another release may send parameters that this server does not know, so it ignores them.
Parameters known_parameters(std::string_view query, std::initializer_list<std::string_view> known) {
  auto parameters = sluice::http::parse_query(query);
  if (!parameters) throw http::Refusal(400, "invalid", parameters.error().text);
  Parameters given;
  for (auto& [name, value] : *parameters) {
    if (std::ranges::find(known, name) == known.end()) continue;
    if (!given.emplace(name, std::move(value)).second) http::refuse_fault(400, "?" + name, "is given more than once");
  }
  return given;
}

// Without its chain, a revision names no position; nor does a chain alone.
std::optional<sluice::sync::Position> position_of(const Parameters& given,
                                                  const sluice::sync::PositionParameters& names) {
  const auto revision = given.find(names.revision);
  const auto chain = given.find(names.chain);
  if (revision == given.end() || chain == given.end()) return std::nullopt;
  auto position = sluice::sync::parse_position(revision->second, chain->second, names);
  if (!position) throw http::Refusal(400, "invalid", position.error().text);
  return std::move(*position);
}

}  // namespace

SyncRoute sync_route_of(std::string_view method, std::string_view path) {
  const auto* const found = std::ranges::find(kRouteNames, path, path_of);
  if (found == kRouteNames.end()) {
    throw http::Refusal(404, "not-found",
                        "There is no such path. Paths for agents: /v1/sync/snapshot, /v1/sync/watch, /v1/sync/report, "
                        "/v1/sync/counters, /v1/sync/whatif.");
  }
  const std::string_view allowed = method_of(*found);
  if (allowed != method) {
    throw http::Refusal(405, "method-not-allowed", fmt::format("This path accepts only {}.", allowed), {},
                        fmt::format("Allow: {}\r\n", allowed));
  }
  return static_cast<SyncRoute>(found - kRouteNames.begin());
}

Positions positions_of(SyncRoute route, std::string_view query) {
  using sluice::sync::kAnnounced;
  using sluice::sync::kSince;
  const Parameters given =
      route == SyncRoute::snapshot
          ? known_parameters(query, {kSince.revision, kSince.chain, kAnnounced.revision, kAnnounced.chain})
          : known_parameters(query, {kSince.revision, kSince.chain});
  return {.since = position_of(given, kSince), .announced = position_of(given, kAnnounced)};
}

bool calls_functions(std::string_view query) {
  const Parameters given = known_parameters(query, {"functions"});
  return given.contains("functions") && given.find("functions")->second == "1";
}

std::string agent_id_of(std::string_view header) {
  const bool good = header.size() <= sluice::sync::kMaxAgentNameBytes &&
                    std::ranges::all_of(header, [](char c) { return c > ' ' && c <= '~'; });
  if (!good) {
    http::refuse_fault(
        400, "Sluice-Agent",
        fmt::format("an agent's id is 1 to {} visible ASCII characters", sluice::sync::kMaxAgentNameBytes));
  }
  return std::string(header);
}

bool reads_newer_fields(std::string_view header) { return has_word(header, sluice::sync::kReadsNewerFields); }

bool reads_whatif(std::string_view header) { return has_word(header, sluice::sync::kReadsWhatIf); }

}  // namespace sluice::server::sync
