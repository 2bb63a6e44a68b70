// The lines of the watch stream: "something changed", and heartbeats.
//
//   {"revision":7,"chain":"…","spread_ms":0}
//   {"heartbeat":true,"revision":7,"chain":"…","tenants":{"shop":12,"*":3},"reconnect_max_ms":4000}
//
// `tenants` stands only where it changed since the heartbeat before, and in the first of a stream.
//
// Forward compatibility: members that this version does not know are passed over.
//
// Thread safety: values and pure functions; a LineSplitter belongs to one stream.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "common/base/error.hpp"
#include "common/sync/position.hpp"

namespace sluice::sync {

inline constexpr std::chrono::milliseconds kMaxSpread{60'000};
inline constexpr std::chrono::milliseconds kMaxReconnect{600'000};
inline constexpr std::size_t kMaxWatchLineBytes = std::size_t{16} << 20;  // heartbeats name a scope's tenants

// The scope has changed; this is its newest state.
struct Invalidation {
  Position head;
  std::chrono::milliseconds spread{0};  // 0 to kMaxSpread: over this time, at random, agents begin to fetch

  bool operator==(const Invalidation&) const = default;
};

// How many agents are live, by tenant, each ≥ 0; kEveryTenant is for every tenant of the scope that is not named.
using LiveAgents = std::map<std::string, std::int64_t, std::less<>>;
inline constexpr std::string_view kEveryTenant = "*";

// The server is there, and this is its newest state; inside the scope nothing has changed since the last invalidation.
struct Heartbeat {
  Position head;
  std::optional<LiveAgents> live_agents;                   // absent: as of the heartbeat before
  std::optional<std::chrono::milliseconds> reconnect_max;  // 1 ms to kMaxReconnect

  bool operator==(const Heartbeat&) const = default;
};

using WatchLine = std::variant<Invalidation, Heartbeat>;

// With the line feed at its end.
std::string write_line(const Invalidation& line);
std::string write_line(const Heartbeat& line);

// One line, without its line feed. Faults, each with its JSON pointer: not JSON, a member missing, of another type or
// out of its range, a tenant that is no id.
std::expected<WatchLine, Faults> parse_watch_line(std::string_view line);

// Cuts a stream into lines, however it arrives. Empty lines are passed over, and so is a carriage return at an end.
class LineSplitter {
 public:
  // Appends to `lines` those that `bytes` ends. Error `watch_line_too_long`: a line is over kMaxWatchLineBytes; the
  // stream is of no use any more.
  Result<> feed(std::string_view bytes, std::vector<std::string>& lines);

  // Bytes of a line that has not ended: a stream that ends with some was cut.
  std::size_t unfinished() const { return line_.size(); }

 private:
  std::string line_;
};

}  // namespace sluice::sync
