// What the agent decided, for the server's analytics: decisions by tenant, policy and outcome, and the subjects that
// were throttled most; told interval by interval.
//
// What counts: every check that got a decision on behalf of a tenant, alone or in a batch, once: 200, 429, and the 503
// of fail_closed. What was refused before (400, 401, 404, 413, 422), overload and no_snapshot do not. So the sum over
// all outcomes but shadow_allowed and shadow_denied is the number of these replies.
//
// How it is quick: each worker has counters of its own, which only it writes, and finds them once for each policy and
// snapshot. take() reads how far they have come and tells the difference to the last time: nothing is handed over, no
// decision waits. Throttled subjects, on the path of refusals only, are behind a lock that nobody but take() shares,
// for as long as swapping two pointers takes.
//
// Bounded: what a worker counts for more than so many policies goes to the tenant's row without a policy, and what
// finds no row even so is counted in dropped().
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

// The decisions of one worker for one policy. Written by that worker only; a lock-free addition would cost it more.
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
  std::vector<sync::UsageCount> counts;          // one may come several times: ReportQueue::add adds them up
  std::vector<sync::ThrottledSubject> subjects;  // each once, the foremost of each policy first
};

struct UsageBounds {
  std::size_t rows = 32'768;         // policies that a worker tells apart
  std::size_t subjects = 1'000;      // that a worker's sketch has room for
  std::size_t subjects_taken = 200;  // told of an interval
};

// One worker's part. Its thread: all but take.
class WorkerUsage {
 public:
  explicit WorkerUsage(const UsageBounds& bounds);

  // Where decisions of this policy ("": of none) are counted from now until forget_rows(). Takes a lock, may allocate.
  UsageCounters& row(std::string_view tenant, std::string_view policy);
  // What row() gave is not used any more: another snapshot is in force.
  void forget_rows() { ++generation_; }

  // Kept as it is (a value of a check is at most 256 bytes long) until it is taken, and hashed then.
  void throttled(std::string_view tenant, std::string_view policy, std::string_view subject, ReportSubjects how);

  std::uint64_t dropped() const;

 private:
  friend class Usage;
  struct Row {
    std::string tenant;
    std::string policy;
    std::uint64_t generation = 0;  // when row() gave it last
    bool free = false;
    UsageCounters counters;
    std::array<std::uint64_t, kUsageOutcomes> taken{};
  };
  static constexpr std::size_t kChunk = 256;  // rows read in one go: the worker may wait for it

  Row* find_or_make(std::string_view tenant, std::string_view policy);
  void sweep();
  static void collect(Row& row, std::vector<sync::UsageCount>& out);
  void take_counts(std::vector<sync::UsageCount>& out);
  const TopSubjects& take_subjects();

  const UsageBounds bounds_;
  std::uint64_t generation_ = 1;
  std::uint64_t swept_ = 0;  // the generation in which sweep() last looked

  mutable std::mutex mutex_;  // guards the rows' names and `taken`, and what follows; the counters need no lock
  std::deque<Row> rows_;      // they stay where they are
  std::vector<Row*> free_;
  std::unordered_map<std::string, Row*> index_;  // by tenant/policy
  std::vector<sync::UsageCount> left_;           // of rows that were given up
  UsageCounters lost_;                           // what found no row

  std::mutex subjects_mutex_;  // guards filling_
  std::unique_ptr<TopSubjects> filling_;
  std::unique_ptr<TopSubjects> taken_;  // take()'s, empty between two of them
};

class Usage {
 public:
  // `start`: since when the workers count.
  explicit Usage(std::size_t workers, UsageBounds bounds = {}, WallTime start = {});

  WorkerUsage& worker(std::size_t index) { return workers_.at(index); }

  // What was counted since the last take, each decision in exactly one of them. Any thread.
  TakenUsage take();
  // Takes it for the interval from the last collect() to now.
  void collect(sync::ReportQueue& queue, WallTime now);

  // Decisions since the start that no row was there for, or no room in the queue of collect(). Any thread.
  std::uint64_t dropped() const;

 private:
  const UsageBounds bounds_;
  std::mutex mutex_;  // one take at a time
  WallTime since_;    // of collect() alone
  std::atomic<std::uint64_t> dropped_by_queue_{0};
  std::deque<WorkerUsage> workers_;
};

}  // namespace sluice::agent::usage
