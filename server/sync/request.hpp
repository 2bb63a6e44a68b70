// Parses requests of the sync routes.
//
// Thread safety: pure functions. They throw Refusal.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/sync/position.hpp"

namespace sluice::server::sync {

enum class SyncRoute : std::uint8_t { snapshot, watch, report, counters };

// Returns the route. Refuses an unknown path (404), and a method that the path does not accept (405).
SyncRoute sync_route_of(std::string_view method, std::string_view path);

// The positions in a query string. Each is complete (revision and chain) or absent.
struct Positions {
  // The position of the agent's snapshot.
  std::optional<sluice::sync::Position> since;
  // Only for the route snapshot: the position that the agent's watch announced.
  std::optional<sluice::sync::Position> announced;

  bool operator==(const Positions&) const = default;
};
Positions positions_of(SyncRoute route, std::string_view query);

// Checks the value of the header Sluice-Agent, and returns it. "": the header is missing.
std::string agent_id_of(std::string_view header);

// Whether an Accept-Encoding allows gzip (RFC 9110 section 12.5.3).
bool takes_gzip(std::string_view accept_encoding);

}  // namespace sluice::server::sync
