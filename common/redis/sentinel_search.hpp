// Decides which Redis is the primary, from what several sentinels say.
//
// All sentinels are asked at once. An address gets one vote from each sentinel that names it. The search ends
// - when every sentinel has answered or failed, or
// - when more than half of all sentinels name the same address and do not call it down, or
// - kSettle after the first address was named, or
// - at the deadline.
// The candidates are ranked by votes, then by config epoch (which grows with each failover). The caller uses only a
// candidate that calls itself a primary, because a sentinel may be wrong or lie.
//
// No I/O and no clock: answers and time are arguments.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "common/base/error.hpp"
#include "common/redis/reply.hpp"
#include "common/redis/target.hpp"

namespace sluice::redis {

// What one sentinel says about the primary.
struct SentinelView {
  HostPort primary;
  std::uint64_t config_epoch = 0;
  bool down = false;  // the sentinel calls this primary down
};

// Codes: `unknown_primary` (no primary of that name), `sentinel_login` (password, user or permission), `protocol` (not
// a Sentinel).
Error sentinel_error(const Reply& reply);

// Reads the reply to SENTINEL GET-MASTER-ADDR-BY-NAME. Errors: those of sentinel_error().
Result<HostPort> read_primary(const Reply& reply);

// Reads the reply to SENTINEL MASTER. `primary`: the result of read_primary() for the same sentinel. Errors: that of
// `primary`, and those of sentinel_error().
Result<SentinelView> read_view(Result<HostPort> primary, const Reply& reply);

// Reads a message of the channel +switch-master. Returns nullopt if the message is about another primary or is invalid.
std::optional<HostPort> read_switch(std::string_view message, std::string_view primary_name);

class SentinelSearch {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::milliseconds kSettle{100};

  struct Candidate {
    HostPort address;
    std::size_t votes = 0;
    std::uint64_t config_epoch = 0;  // the highest that a sentinel reports
  };

  explicit SentinelSearch(std::size_t sentinels) : answers_(sentinels) {}

  // Drops an earlier search.
  void begin(TimePoint deadline);
  // Ignores a second answer of a sentinel. REQUIRES: under_way().
  void answered(std::size_t sentinel, Result<SentinelView> view, TimePoint now);
  bool under_way() const { return under_way_; }
  // Whether the search is over. Then finish() must follow.
  bool enough(TimePoint now) const;
  // When enough() becomes true without further answers.
  TimePoint ends_at() const { return ends_at_; }

  // Returns the candidates, best first.
  std::vector<Candidate> finish();
  // Why there is no candidate. The code comes from the first sentinel that was reached, if any was.
  Error why_nobody() const;

 private:
  struct Answer {
    bool given = false;
    Result<SentinelView> view = failure("timeout", "");
  };

  std::vector<Answer> answers_;
  TimePoint ends_at_{};
  bool settling_ = false;  // an address was named
  bool under_way_ = false;
};

}  // namespace sluice::redis
