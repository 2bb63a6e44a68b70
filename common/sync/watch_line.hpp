// The lines that a server sends on a watch: announcements of a new position, and heartbeats.
//
//   {"revision":7,"chain":"…","spread_ms":0}
//   {"heartbeat":true,"revision":7,"chain":"…","tenants":{"shop":12,"*":3},"reconnect_max_ms":4000}
//
// `tenants` has the number of live agents of each tenant. It is in the first heartbeat of a watch, and in later
// heartbeats if it has changed.
//
// Forward compatibility: unknown members are ignored.
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
inline constexpr std::size_t kMaxWatchLineBytes = std::size_t{16} << 20;  // a heartbeat may name all tenants of a scope

// The scope has changed. `head`: its newest position.
struct Announcement {
  Position head;
  std::chrono::milliseconds spread{0};  // 0 to kMaxSpread: each agent waits a random part of this before it fetches

  bool operator==(const Announcement&) const = default;
};

// Number of live agents by tenant, each ≥ 0. The entry kEveryTenant holds for each tenant of the scope without an
// entry of its own.
using LiveAgents = std::map<std::string, std::int64_t, std::less<>>;
inline constexpr std::string_view kEveryTenant = "*";

// The server is alive, and nothing in the scope has changed since the last announcement. `head`: the newest position.
struct Heartbeat {
  Position head;
  std::optional<LiveAgents> live_agents;  // `tenants` in the line; nullopt: unchanged since the previous heartbeat
  // The longest time that an agent waits before it reconnects: 1 ms to kMaxReconnect. nullopt: no change.
  std::optional<std::chrono::milliseconds> reconnect_max;

  bool operator==(const Heartbeat&) const = default;
};

using WatchLine = std::variant<Announcement, Heartbeat>;

// The line with its line feed.
std::string write_line(const Announcement& line);
std::string write_line(const Heartbeat& line);

// Reads one line, without its line feed. Faults, each with its JSON pointer: not JSON; a member is missing, of another
// type or out of range; a tenant's id is invalid.
std::expected<WatchLine, Faults> parse_watch_line(std::string_view line);

// Splits a stream of bytes into lines. Skips empty lines, and a carriage return before a line feed.
class LineSplitter {
 public:
  // Takes bytes and appends the lines that are complete now to `lines`. Error `watch_line_too_long`: a line is above
  // kMaxWatchLineBytes; do not call feed() again.
  Result<> feed(std::string_view bytes, std::vector<std::string>& lines);

  // The number of bytes of an incomplete line. If it is above 0 when the stream ends, the stream was cut off.
  std::size_t unfinished() const { return line_.size(); }

 private:
  std::string line_;
};

}  // namespace sluice::sync
