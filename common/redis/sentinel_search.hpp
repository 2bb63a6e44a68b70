// Decides which Redis is the primary, from what several sentinels say.
//
// All sentinels are asked at once. An address gets one vote from each sentinel that names it. The search ends
// - when every sentinel has answered or failed, or
// - when more than half of all sentinels name the same address and do not call it down, or
// - kSettle after the first address was named, or
// - at the deadline.
// The candidates are ranked by votes, then by config epoch (which grows with each failover). The caller tries them in
// this order, and uses only a Redis that calls itself a primary, because a sentinel may be wrong or lie.
//
// No I/O and no clock: answers and time are arguments. Not thread-safe.
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

// What an error reply of a sentinel means: `unknown_primary` (no primary of that name), `sentinel_login` (password,
// user or permission) or `protocol` (not a Sentinel).
Error sentinel_error(const Reply& reply);

// Reads the reply to SENTINEL GET-MASTER-ADDR-BY-NAME. The sentinel that leads a failover names the new primary in this
// reply some seconds earlier than in its reply to SENTINEL MASTER. Errors: those of sentinel_error().
Result<HostPort> read_primary(const Reply& reply);

// Reads the reply to SENTINEL MASTER. `primary`: the result of read_primary() for the same sentinel. Errors:
// `primary`'s error, and those of sentinel_error().
Result<SentinelView> read_view(Result<HostPort> primary, const Reply& reply);

// The primary's new address in a message of the channel +switch-master, "NAME OLD-HOST OLD-PORT HOST PORT". nullopt if
// the message is about another primary or is not of this form.
std::optional<HostPort> read_switch(std::string_view message, std::string_view primary_name);

class SentinelSearch {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::milliseconds kSettle{100};

  struct Candidate {
    HostPort address;
    std::size_t votes = 0;
    std::uint64_t config_epoch = 0;  // the highest that a sentinel reports with this address
  };

  explicit SentinelSearch(std::size_t sentinels) : answers_(sentinels) {}

  // Begins a search that ends at `deadline` at the latest. Drops an earlier search.
  void begin(TimePoint deadline);
  // Takes the answer of a sentinel; a second answer of the same sentinel is ignored. REQUIRES: under_way().
  void answered(std::size_t sentinel, Result<SentinelView> view, TimePoint now);
  bool under_way() const { return under_way_; }
  // Whether the search is over at `now`. If it is, finish() must follow.
  bool enough(TimePoint now) const;
  // When enough() becomes true even if no further answer comes.
  TimePoint ends_at() const { return ends_at_; }

  // Ends the search and returns the candidates, best first.
  std::vector<Candidate> finish();
  // Why the last search found no primary. The text has the number of silent sentinels and the errors of the others. The
  // code is that of the first sentinel that was reached, or of the first sentinel if none was.
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
