// Keeps the agent's usage reports until the server has stored them. A usage report gets its number when it is first
// sent, and is sent again unchanged until it is stored. So the server can count a repeated report once.
//
// Memory is bounded. When too many intervals wait, the newest are merged: sums stay exact, but times get coarser, and
// only the foremost throttled subjects and unmatched resources, and the first reached quotas, are kept. Counts beyond
// kMaxWaitingCounts are dropped, and utilization beyond as many entries. Used keys without room are left out: a key
// that is used again is reported again.
//
// No clock, no I/O. Not thread-safe.
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

  // `max_counts_at_once`: the most counts in one request; 1 to kMaxCountsAtOnce.
  explicit ReportQueue(std::size_t max_waiting_counts = kMaxWaitingCounts,
                       std::size_t max_counts_at_once = kMaxCountsAtOnce)
      : max_waiting_counts_(max_waiting_counts), max_counts_at_once_(max_counts_at_once) {}

  // An interval without decisions makes no report. REQUIRES: intervals come in order; counts ≥ 0.
  void add(WallTime from, WallTime to, std::vector<UsageCount> counts, std::vector<ThrottledSubject> subjects = {},
           std::vector<UnmatchedResource> unmatched = {}, std::vector<QuotaReached> quotas = {},
           std::vector<std::string> keys = {}, std::vector<Utilization> utilization = {});

  // The reports of the next request, oldest first: reports that are sent but not stored, then waiting intervals that
  // fit. New reports do not wait for old ones, because the server stores only once a minute, and waiting reports are
  // lost if the agent dies. The span is valid until the next call of a function that is not const.
  std::span<const UsageReport> to_send();

  // The server has stored all reports up to `number`. Returns false and changes nothing if `number` was never sent.
  // `number` may be lower than before, because another server may not know yet what is stored.
  bool confirm_stored(std::int64_t number);

  bool empty() const { return sent_.empty() && waiting_.empty(); }
  std::int64_t last_stored() const { return last_stored_; }
  std::uint64_t dropped() const { return dropped_; }  // decisions in dropped counts, since the start
  std::size_t waiting_counts() const { return waiting_counts_; }

 private:
  struct Interval {
    WallTime from;
    WallTime to;
    std::vector<UsageCount> counts;            // sorted, one for each tenant, policy and outcome
    std::vector<ThrottledSubject> subjects;    // one for each tenant, policy and subject; at most kMaxSubjectsAtOnce
    std::vector<UnmatchedResource> unmatched;  // one for each tenant and resource; at most kMaxUnmatchedAtOnce
    std::vector<QuotaReached> quotas;          // at most kMaxQuotaMarksAtOnce
    std::vector<std::string> keys;             // sorted, each once; at most kMaxKeysAtOnce
    std::vector<Utilization> utilization;      // one for each tenant and policy; at most kMaxUtilizationsAtOnce
    bool empty() const {
      return counts.empty() && subjects.empty() && unmatched.empty() && quotas.empty() && keys.empty() &&
             utilization.empty();
    }
  };

  void bound_counts(Interval& interval);
  void bound_utilization(Interval& interval) const;
  void make_report(Interval& interval, std::size_t count);

  std::size_t max_waiting_counts_;
  std::size_t max_counts_at_once_;
  std::deque<Interval> waiting_;
  std::vector<UsageReport> sent_;  // not stored yet
  std::size_t waiting_counts_ = 0;
  std::size_t waiting_utilization_ = 0;
  std::int64_t next_number_ = 1;
  std::int64_t last_stored_ = 0;
  std::uint64_t dropped_ = 0;
};

}  // namespace sluice::sync
