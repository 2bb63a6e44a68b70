// The agent's reports until the server says that it has stored them: numbered when they are first sent, and sent again,
// unchanged, until then. A replay counts once because a number never gets another content.
//
// Bounded: intervals that were not sent yet wait, and when too many wait, the newest are put together: sums stay
// exact, only times get coarser. What would go over kMostRows even so is dropped and counted in dropped(). One request
// is under way at a time, of at most kMaxCountsAtOnce counts and kMaxSubjectsAtOnce throttled subjects. Subjects go
// along with their interval; of those that were put together the most frequent stay.
//
// Thread safety: none; one at a time. No clock, no I/O.
// Invariant: numbers count from 1 by one; what was sent and not stored is what to_send() gives, and nothing else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "common/sync/report.hpp"

namespace sluice::sync {

class ReportQueue {
 public:
  static constexpr std::size_t kMostWaiting = 64;    // intervals
  static constexpr std::size_t kMostRows = 200'000;  // counts that wait, in all intervals together
  static constexpr std::size_t kMostSent = 16;       // reports in one request

  // `most_rows`, `most_at_once` (counts in one request, 1 to kMaxCountsAtOnce): smaller in tests.
  explicit ReportQueue(std::size_t most_rows = kMostRows, std::size_t most_at_once = kMaxCountsAtOnce)
      : most_rows_(most_rows), most_at_once_(most_at_once) {}

  // What was decided from `from` to `to`. Counts of one tenant, policy and outcome are added up, as are those of one
  // subject; an interval in which nothing was decided needs no report. REQUIRES: intervals come in order; counts ≥ 0.
  void add(WallTime from, WallTime to, std::vector<UsageCount> counts, std::vector<ThrottledSubject> subjects = {});

  // What to send now, oldest first: what was sent and is not stored yet, again, and the next that wait as far as there
  // is room. The server stores once in a while only: what waited for that would be lost with the agent.
  // Valid until the next call of a function that is not const.
  std::span<const UsageReport> to_send();

  // The server has stored all up to this number. False where it names one that was never sent: it is not of this boot,
  // and nothing is taken for stored. A number from before is none to worry about: answers overtake each other.
  bool stored(std::int64_t number);

  bool empty() const { return sent_.empty() && waiting_.empty(); }
  std::int64_t last_stored() const { return last_stored_; }
  std::uint64_t dropped() const { return dropped_; }  // decisions, since the start
  std::size_t rows() const { return rows_; }          // that wait

 private:
  struct Interval {
    WallTime from;
    WallTime to;
    std::vector<UsageCount> counts;          // sorted, one for each tenant, policy and outcome
    std::vector<ThrottledSubject> subjects;  // one for each; at most kMaxSubjectsAtOnce
    bool empty() const { return counts.empty() && subjects.empty(); }
  };

  void bound_rows(Interval& interval);
  void send(Interval& interval, std::size_t rows);

  std::size_t most_rows_;
  std::size_t most_at_once_;
  std::deque<Interval> waiting_;
  std::vector<UsageReport> sent_;
  std::size_t rows_ = 0;
  std::int64_t next_number_ = 1;
  std::int64_t last_stored_ = 0;
  std::uint64_t dropped_ = 0;
};

}  // namespace sluice::sync
