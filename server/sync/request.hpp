// Parses requests of the sync routes. The functions throw Refusal.
//
// Agents of the release before and of the one after use these routes too. So an unknown query parameter is ignored, and
// every known one has a default. A new parameter must have a default with which an agent that lacks it is served as
// before.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/sync/position.hpp"

namespace sluice::server::sync {

enum class SyncRoute : std::uint8_t { snapshot, watch, report, counters, whatif };
// By SyncRoute.
inline constexpr std::array<std::string_view, 5> kRouteNames{"GET /v1/sync/snapshot", "GET /v1/sync/watch",
                                                             "POST /v1/sync/report", "GET /v1/sync/counters",
                                                             "POST /v1/sync/whatif"};

// Refuses an unknown path (404), and a method that the path does not accept (405).
SyncRoute sync_route_of(std::string_view method, std::string_view path);

struct Positions {
  std::optional<sluice::sync::Position> since;  // of the agent's snapshot
  // Only for SyncRoute::snapshot: the position that the agent's watch announced.
  std::optional<sluice::sync::Position> announced;

  bool operator==(const Positions&) const = default;
};
// A position of which only the revision or only the chain is given counts as absent: the agent then gets the full
// snapshot, which is right wherever it is.
Positions positions_of(SyncRoute route, std::string_view query);

// Whether the agent can call functions of Redis: ?functions=1 of SyncRoute::counters.
bool calls_functions(std::string_view query);

// Checks the value of the header Sluice-Agent. "": the header is missing.
std::string agent_id_of(std::string_view header);

// Whether the agent ignores fields that it does not know: sync::kReadsField. Unknown words are ignored.
bool reads_newer_fields(std::string_view header);
// Whether the agent answers questions of what-if.
bool reads_whatif(std::string_view header);

}  // namespace sluice::server::sync
