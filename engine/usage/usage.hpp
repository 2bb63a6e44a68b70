// Usage for the server's analytics: decisions by tenant, policy and outcome, how much they used of their limits, the
// most throttled subjects, and the resources that most often matched no policy. README.md says which checks count.
//
// Each worker counts in rows of its own, without a lock. A row has the counters of one tenant and policy. take() reads
// the counters and returns the difference to the last reading.
//
// A key that is used is reported once in each interval of kKeyInterval. The decision path compares two numbers for it.
//
// Bounded memory: a worker without room for another row counts in the tenant's row without a policy. If there is no
// room for that row either, dropped() counts the decision.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>
#include <boost/unordered/unordered_flat_set.hpp>

#include "common/sync/report_queue.hpp"
#include "common/telemetry/utilization.hpp"
#include "engine/usage/top_subjects.hpp"
#include "engine/usage/usage_outcome.hpp"

namespace sluice::usage {

// Only one worker writes. So a load and a store suffice, which cost less than an atomic addition.
class UsageCounters {
 public:
  void count(UsageOutcome outcome) noexcept { add(counts_[static_cast<std::size_t>(outcome)], 1); }
  // A limit judged the decision. `share`: what was used of it afterwards (telemetry::UtilizationBuckets::observe()).
  void observe(std::uint64_t share) noexcept {
    add(used_, share);
    add(near_limit_, share > telemetry::UtilizationBuckets::kNear ? 1 : 0);
    judged_.store(judged_.load(std::memory_order_relaxed) + 1, std::memory_order_release);  // the last: see shares()
  }
  std::uint64_t value(std::size_t outcome) const noexcept { return counts_[outcome].load(std::memory_order_relaxed); }

  struct Shares {
    std::uint64_t judged = 0;
    std::uint64_t near_limit = 0;
    std::uint64_t used = 0;
  };
  // `near_limit` and `used` have at least what belongs to `judged`, and may have more: of decisions that the worker
  // counts meanwhile.
  Shares shares() const noexcept {
    Shares now{.judged = judged_.load(std::memory_order_acquire)};
    now.near_limit = near_limit_.load(std::memory_order_relaxed);
    now.used = used_.load(std::memory_order_relaxed);
    return now;
  }
  void reset() noexcept {
    for (auto& count : counts_) count.store(0, std::memory_order_relaxed);
    for (auto* count : {&judged_, &near_limit_, &used_}) count->store(0, std::memory_order_relaxed);
  }

 private:
  static void add(std::atomic<std::uint64_t>& count, std::uint64_t more) noexcept {
    count.store(count.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
  }

  std::array<std::atomic<std::uint64_t>, kUsageOutcomes> counts_{};
  std::atomic<std::uint64_t> judged_{0};
  std::atomic<std::uint64_t> near_limit_{0};
  std::atomic<std::uint64_t> used_{0};
};

struct TakenUsage {
  // The same tenant, policy and outcome can occur several times.
  std::vector<sync::UsageCount> counts;
  // First the most throttled subject of each policy, then the second of each, and so on.
  std::vector<sync::ThrottledSubject> subjects;
  // First the foremost resource of each tenant, then the second of each, and so on.
  std::vector<sync::UnmatchedResource> unmatched;
  // Each once, as far as the workers had room.
  std::vector<sync::QuotaReached> quotas;
  // The ids of keys that were used, sorted, each once.
  std::vector<std::string> keys;
  // The same tenant and policy can occur several times.
  std::vector<sync::Utilization> utilization;
};

// How often a key that is used all the time is reported.
inline constexpr std::chrono::seconds kKeyInterval{60};

struct UsageBounds {
  std::size_t rows = 32'768;          // policies that a worker counts separately
  std::size_t subjects = 1'000;       // throttled subjects that a worker counts
  std::size_t subjects_taken = 200;   // throttled subjects that take() returns
  std::size_t unmatched = 1'000;      // unmatched resources that a worker counts
  std::size_t unmatched_taken = 50;   // unmatched resources that take() returns
  std::size_t quotas = 200;           // reached quotas that a worker keeps
  std::size_t quotas_of_tenant = 50;  // of these, those of one tenant
  std::size_t key_bytes = 64 << 10;   // for the ids of used keys that a worker keeps, each with a byte between
};

// Thread: one worker's. dropped() and the take functions may be called on any thread.
class WorkerUsage {
 public:
  // `key_interval`: the number of the interval, of all workers.
  WorkerUsage(const UsageBounds& bounds, const std::atomic<std::uint32_t>& key_interval);

  // The counters are valid until forget_rows(). `policy` may be "". Takes a lock and may allocate.
  UsageCounters& row(std::string_view tenant, std::string_view policy);
  // Call this when another snapshot is in force.
  void forget_rows() { ++generation_; }

  // Counts a denial, unless `how` is off. A subject has at most 256 bytes.
  void throttled(std::string_view tenant, std::string_view policy, std::string_view subject, ReportSubjects how);

  // Counts a check that no policy matches. A resource has at most 256 bytes; "" is not counted.
  void unmatched(std::string_view tenant, std::string_view resource);

  // Whether there is room for this mark of a quota, and it was not reported since the last report. If so, the caller
  // must call reached(). `name`: of the mark. Allocates nothing for a mark that is known.
  bool wants_mark(std::string_view tenant, std::uint64_t name);
  void reached(sync::QuotaReached quota);

  std::uint32_t key_interval() const noexcept { return key_interval_.load(std::memory_order_relaxed); }
  // Notes that a key was used in this interval. An id without room is forgotten: another use in a later interval is
  // reported. Allocates nothing.
  void key_used(std::string_view id) noexcept;

  std::uint64_t dropped() const;
  std::uint64_t dropped_quotas() const { return dropped_quotas_.load(std::memory_order_relaxed); }

 private:
  friend class Usage;
  struct Foremost {
    explicit Foremost(const UsageBounds& bounds) : subjects(bounds.subjects), unmatched(bounds.unmatched) {}
    TopSubjects subjects;
    TopSubjects unmatched;
  };
  struct Row {
    std::string tenant;
    std::string policy;
    std::uint64_t generation = 0;  // generation_ when row() last returned this row
    bool free = false;
    UsageCounters counters;
    std::array<std::uint64_t, kUsageOutcomes> taken{};  // the counters when collect() last read them
    UsageCounters::Shares taken_shares;
  };
  static constexpr std::size_t kChunk = 256;  // rows read under one lock, for which the worker may have to wait

  Row* find_or_make(std::string_view tenant, std::string_view policy);
  void sweep();
  struct Collected {
    std::vector<sync::UsageCount> counts;
    std::vector<sync::Utilization> utilization;
  };
  static void collect(Row& row, Collected& out);
  static void collect_shares(Row& row, Collected& out);
  void take_counts(Collected& out);
  const Foremost& take_foremost();
  std::vector<sync::QuotaReached> take_quotas();
  void take_keys(std::vector<std::string>& out);

  const UsageBounds bounds_;
  const std::atomic<std::uint32_t>& key_interval_;
  std::uint64_t generation_ = 1;  // counts snapshots
  std::uint64_t swept_ = 0;       // the generation of the last sweep()

  mutable std::mutex mutex_;  // guards the members below, but not the rows' counters
  std::deque<Row> rows_;      // pointers to rows must stay valid
  std::vector<Row*> free_;
  std::unordered_map<std::string, Row*> index_;  // key: tenant/policy
  Collected uncollected_;                        // of freed rows
  UsageCounters uncounted_;                      // decisions that found no row

  std::mutex foremost_mutex_;  // guards current_, quotas_ and keys_
  std::unique_ptr<Foremost> current_;
  std::unique_ptr<Foremost> collected_;  // the last result of take_foremost()
  std::vector<sync::QuotaReached> quotas_;
  boost::unordered_flat_set<std::uint64_t> marks_;                    // the names of those in quotas_
  boost::unordered_flat_map<std::uint64_t, std::size_t> of_tenants_;  // how many of them, by a hash of the tenant's id
  std::atomic<std::uint64_t> dropped_quotas_{0};
  std::string keys_;  // ids, each with a space behind it; its memory is set aside at the start
};

class Usage {
 public:
  // `start`: the beginning of the first interval.
  explicit Usage(std::size_t workers, UsageBounds bounds = {}, WallTime start = {});

  WorkerUsage& worker(std::size_t index) { return workers_.at(index); }

  // Returns what was counted since the last take(). `new_key_interval`: keys that are used from now on are reported
  // again. Any thread.
  TakenUsage take(bool new_key_interval = true);
  // Puts the usage since the last collect() into the queue. `now`: the end of the interval.
  void collect(sync::ReportQueue& queue, WallTime now);

  // All decisions so far that no report contains, because there was no row or the queue was full. Any thread.
  std::uint64_t dropped() const;
  // Checks that reached a share of a quota, or were denied by it, while no report had room to say so. Any thread.
  std::uint64_t dropped_quotas() const;

 private:
  const UsageBounds bounds_;
  std::mutex mutex_;     // one take() at a time
  WallTime since_;       // end of the last interval; only collect() uses it
  WallTime keys_since_;  // when the key interval began; only collect() uses it
  std::atomic<std::uint32_t> key_interval_{1};
  std::atomic<std::uint64_t> dropped_by_queue_{0};
  std::deque<WorkerUsage> workers_;
};

}  // namespace sluice::usage
