// What the sync routes read of a request, without any state.
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

// Refuses what is no route (404), and other methods (405).
SyncRoute sync_route_of(std::string_view method, std::string_view path);

// The positions that a query names, each whole or not at all.
struct Positions {
  std::optional<sluice::sync::Position> since;
  std::optional<sluice::sync::Position> heard;  // of a snapshot only

  bool operator==(const Positions&) const = default;
};
Positions positions_of(SyncRoute route, std::string_view query);

// The header Sluice-Agent; "" where there is none.
std::string agent_id_of(std::string_view header);

// Does an Accept-Encoding take gzip? (RFC 9110 section 12.5.3.)
bool takes_gzip(std::string_view accept_encoding);

}  // namespace sluice::server::sync
