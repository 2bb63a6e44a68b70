// Usage for the server's analytics: decisions by tenant, policy and outcome, and the most throttled subjects. Collected
// once per report interval.
//
// What counts: every check that got a decision for a tenant counts once, alone or in a batch. These are the replies 200
// and 429, and the 503 of fail_closed. Refused checks (400, 401, 404, 413, 422), overload and no_snapshot do not count.
// So the sum over all outcomes except shadow_allowed and shadow_denied is the number of checks that count.
//
// Speed: each worker counts in rows of its own, without a lock. A row has the counters of one tenant and policy. take()
// reads the counters and returns the difference to the last reading. A worker takes a lock in two cases. It looks up
// its row once per policy and snapshot, and may then wait while take() reads kChunk rows. It stores the subject of each
// denial under another lock, which take() holds only to swap two pointers.
//
// Bounded memory: when a worker has no room for another row, it counts in the tenant's row without a policy. If there
// is no room for that row either, dropped() counts the decision.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "agent/usage/top_subjects.hpp"
#include "agent/usage/usage_outcome.hpp"
#include "common/sync/report_queue.hpp"

namespace sluice::agent::usage {

// The decisions of one worker for one policy. Only that worker writes, so a load and a store suffice; they cost less
// than an atomic addition.
class UsageCounters {
 public:
  void count(UsageOutcome outcome) noexcept {
    std::atomic<std::uint64_t>& count = counts_[static_cast<std::size_t>(outcome)];
    count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  std::uint64_t value(std::size_t outcome) const noexcept { return counts_[outcome].load(std::memory_order_relaxed); }
  void reset() noexcept {
    for (auto& count : counts_) count.store(0, std::memory_order_relaxed);
  }

 private:
  std::array<std::atomic<std::uint64_t>, kUsageOutcomes> counts_{};
};

struct TakenUsage {
  // The same tenant, policy and outcome may occur several times; ReportQueue::add sums them.
  std::vector<sync::UsageCount> counts;
  // Each subject of a policy once: first the most throttled one of each policy, then the second of each, and so on.
  std::vector<sync::ThrottledSubject> subjects;
};

struct UsageBounds {
  std::size_t rows = 32'768;         // policies that a worker counts separately
  std::size_t subjects = 1'000;      // throttled subjects that a worker counts (capacity of TopSubjects)
  std::size_t subjects_taken = 200;  // throttled subjects that take() returns
};

// The usage of one worker. Thread: the worker's; dropped() and the take functions run on any thread.
class WorkerUsage {
 public:
  explicit WorkerUsage(const UsageBounds& bounds);

  // Returns the counters for this policy ("": no policy), valid until forget_rows(). Takes a lock, may allocate.
  UsageCounters& row(std::string_view tenant, std::string_view policy);
  // To be called when another snapshot is in force. The worker must then no longer use counters that row() returned
  // before.
  void forget_rows() { ++generation_; }

  // Counts a denial, unless `how` is off. The subject (at most 256 bytes) is stored as it is. It is hashed when it is
  // collected, unless `how` is named.
  void throttled(std::string_view tenant, std::string_view policy, std::string_view subject, ReportSubjects how);

  std::uint64_t dropped() const;

 private:
  friend class Usage;
  struct Row {
    std::string tenant;
    std::string policy;
    std::uint64_t generation = 0;  // generation_ when row() returned this row last
    bool free = false;
    UsageCounters counters;
    std::array<std::uint64_t, kUsageOutcomes> taken{};  // the counters at the last collection
  };
  static constexpr std::size_t kChunk = 256;  // rows read under one lock; the worker may have to wait for this lock

  Row* find_or_make(std::string_view tenant, std::string_view policy);
  void sweep();
  static void collect(Row& row, std::vector<sync::UsageCount>& out);
  void take_counts(std::vector<sync::UsageCount>& out);
  const TopSubjects& take_subjects();

  const UsageBounds bounds_;
  std::uint64_t generation_ = 1;  // counts snapshots; only the worker uses it
  std::uint64_t swept_ = 0;       // the generation of the last sweep()

  mutable std::mutex mutex_;  // guards the rows' names and `taken`, and the members below; the counters need no lock
  std::deque<Row> rows_;      // a deque, because pointers to rows must stay valid
  std::vector<Row*> free_;
  std::unordered_map<std::string, Row*> index_;  // key: tenant/policy
  std::vector<sync::UsageCount> uncollected_;    // uncollected counts of freed rows
  UsageCounters uncounted_;                      // decisions that found no row

  std::mutex subjects_mutex_;  // guards current_subjects_
  std::unique_ptr<TopSubjects> current_subjects_;
  std::unique_ptr<TopSubjects> collected_subjects_;  // the result of take_subjects(), until its next call
};

class Usage {
 public:
  // `start`: the beginning of the first interval.
  explicit Usage(std::size_t workers, UsageBounds bounds = {}, WallTime start = {});

  WorkerUsage& worker(std::size_t index) { return workers_.at(index); }

  // Returns what was counted since the last take(). Each decision is in exactly one result. Any thread.
  TakenUsage take();
  // Takes the usage of the interval from the last collect() to `now`, and puts it into the queue.
  void collect(sync::ReportQueue& queue, WallTime now);

  // Decisions that no report contains: they found no row, or the queue of collect() was full. Since the start; any
  // thread.
  std::uint64_t dropped() const;

 private:
  const UsageBounds bounds_;
  std::mutex mutex_;  // one take() at a time
  WallTime since_;    // end of the last interval; only collect() uses it
  std::atomic<std::uint64_t> dropped_by_queue_{0};
  std::deque<WorkerUsage> workers_;
};

}  // namespace sluice::agent::usage
