// The lines that a server sends on a watch: announcements of a new position, heartbeats, and questions of what-if.
//
//   {"revision":7,"chain":"…","spread_ms":0,"traceparent":"00-…","earlier":["00-…"],"earlier_dropped":1}
//   {"heartbeat":true,"revision":7,"chain":"…","tenants":{"shop":12,"*":3},"reconnect_max_ms":4000}
//   {"whatif":{"id":"…","tenant_id":"shop","policy_id":"orders","from_us":…,"to_us":…,"policy":{…}}}
//
// Agents that do not say that they read questions (kReadsWhatIf) get none: they would refuse such a line.
//
// `tenants` has the number of live agents of each tenant. The first heartbeat of a watch has this member; later
// heartbeats have it only if the numbers have changed. `traceparent` is there only if a change is traced, and
// `earlier` only if further ones are. Unknown members are ignored.
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
#include "common/sync/traced_changes.hpp"
#include "common/sync/whatif.hpp"

namespace sluice::sync {

inline constexpr std::chrono::milliseconds kMaxSpread{60'000};
inline constexpr std::chrono::milliseconds kMaxReconnect{600'000};
inline constexpr std::size_t kMaxWatchLineBytes = std::size_t{16} << 20;
inline constexpr std::size_t kMaxTraceparent = 128;  // bytes; a longer one is ignored

// The scope has changed. `head` is its newest position.
struct Announcement {
  Position head;
  std::chrono::milliseconds spread{0};  // 0 to kMaxSpread; agents wait a random part of it before they fetch
  TracedChanges traced = {};            // by the spans in which the server published them

  bool operator==(const Announcement&) const = default;
};

// Number of live agents by tenant, each ≥ 0. kEveryTenant: the number for each tenant of the scope without an entry.
using LiveAgents = std::map<std::string, std::int64_t, std::less<>>;
inline constexpr std::string_view kEveryTenant = "*";

// The scope has not changed since the last announcement. A member that is nullopt has not changed since the previous
// heartbeat.
struct Heartbeat {
  Position head;
  std::optional<LiveAgents> live_agents;
  std::optional<std::chrono::milliseconds> reconnect_max;  // longest back-off of agents; 1 ms to kMaxReconnect

  bool operator==(const Heartbeat&) const = default;
};

using WatchLine = std::variant<Announcement, Heartbeat, WhatIfQuestion>;

// Returns the JSON of `line` with a line feed at its end.
std::string write_line(const Announcement& line);
std::string write_line(const Heartbeat& line);
std::string write_line(const WhatIfQuestion& line);

// Reads one line, without its line feed.
std::expected<WatchLine, Faults> parse_watch_line(std::string_view line);

// Splits a stream of bytes into lines. Skips empty lines, and a carriage return before a line feed.
class LineSplitter {
 public:
  // Appends complete lines to `lines`. Error `watch_line_too_long`: a line is longer than kMaxWatchLineBytes; do not
  // call feed() again.
  Result<> feed(std::string_view bytes, std::vector<std::string>& lines);

  // The number of bytes of an incomplete line.
  std::size_t unfinished() const { return line_.size(); }

 private:
  std::string line_;
};

}  // namespace sluice::sync
