// Keeps the agent's usage reports until the server has stored them. A usage report gets its number when it is first
// sent, and is sent again unchanged until it is stored. The server counts a repeated report once: it recognizes the
// number, and a number never gets other content.
//
// Memory is bounded. When too many intervals wait, the newest are merged: sums stay exact, only times get coarser.
// Counts beyond kMaxWaitingCounts are dropped; dropped() returns how many decisions they counted. One request is under
// way at a time, with at most kMaxCountsAtOnce counts and kMaxSubjectsAtOnce throttled subjects. If intervals are
// merged, only the subjects that were throttled most often are kept.
//
// No clock, no I/O. Thread safety: none.
// Invariant: numbers are 1, 2, 3, …; to_send() returns at least the reports that were sent and are not stored.
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
  static constexpr std::size_t kMaxWaitingIntervals = 64;
  static constexpr std::size_t kMaxWaitingCounts = 200'000;  // over all waiting intervals
  static constexpr std::size_t kMaxSentReports = 16;         // usage reports in one request

  // `max_counts_at_once`: counts in one request, 1 to kMaxCountsAtOnce. Tests use smaller values for both parameters.
  explicit ReportQueue(std::size_t max_waiting_counts = kMaxWaitingCounts,
                       std::size_t max_counts_at_once = kMaxCountsAtOnce)
      : max_waiting_counts_(max_waiting_counts), max_counts_at_once_(max_counts_at_once) {}

  // Adds the usage of one interval. Adds up counts with the same tenant, policy and outcome, and counts of the same
  // subject. An interval without decisions makes no report. REQUIRES: intervals come in order; counts ≥ 0.
  void add(WallTime from, WallTime to, std::vector<UsageCount> counts, std::vector<ThrottledSubject> subjects = {});

  // The reports of the next request, oldest first: all that were sent and are not stored, then waiting intervals as far
  // as they fit. New reports do not wait until the old ones are stored, because the server stores only once a minute,
  // and waiting reports are lost if the agent dies. The span is valid until the next call of a function that is not
  // const.
  std::span<const UsageReport> to_send();

  // The server has stored all reports up to `number`. Returns false and changes nothing if `number` was never sent: the
  // reply is then for another start of the agent. `number` may be lower than before, because the reply may come
  // from another server, which does not know yet what is stored.
  bool confirm_stored(std::int64_t number);

  bool empty() const { return sent_.empty() && waiting_.empty(); }
  std::int64_t last_stored() const { return last_stored_; }
  std::uint64_t dropped() const { return dropped_; }              // decisions, since the start
  std::size_t waiting_counts() const { return waiting_counts_; }  // over all waiting intervals

 private:
  struct Interval {
    WallTime from;
    WallTime to;
    std::vector<UsageCount> counts;          // sorted, one for each tenant, policy and outcome
    std::vector<ThrottledSubject> subjects;  // one for each tenant, policy and subject; at most kMaxSubjectsAtOnce
    bool empty() const { return counts.empty() && subjects.empty(); }
  };

  void bound_counts(Interval& interval);
  void make_report(Interval& interval, std::size_t count);

  std::size_t max_waiting_counts_;
  std::size_t max_counts_at_once_;
  std::deque<Interval> waiting_;
  std::vector<UsageReport> sent_;  // returned by to_send() and not stored yet
  std::size_t waiting_counts_ = 0;
  std::int64_t next_number_ = 1;
  std::int64_t last_stored_ = 0;
  std::uint64_t dropped_ = 0;
};

}  // namespace sluice::sync
