// Counters in the memory of this process: for embedded agents, and for failure mode fail_degrade.
//
// Their memory is limited. When it is short, expired counters are removed first. Then a tenant that has more than its
// share begins no new counters: its new identities share one overflow counter for each limit (overflow_key). So they
// get less than their limit. No live counter is forgotten. An identity that is judged by the overflow counter at one
// time and by its own at another can get both limits.
//
// MemoryCounters holds the counters. A process has one such object: with two, every limit would be admitted twice.
// Any thread may use it; the keys are divided among shards, and a decision locks one shard. MemoryStore is a worker's
// CounterStore on these counters; it calls listeners before it returns.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/clock.hpp"
#include "common/limiter/cell_table.hpp"

namespace sluice::limiter {

class MemoryCounters {
 public:
  // `shards`: a power of two. The more shards, the less threads wait for each other.
  explicit MemoryCounters(const Clock& clock, std::size_t shards = 64,
                          std::size_t limit_bytes = MemoryBudget::kUnlimited);

  Outcome judge(const Call& call);
  // As CounterStore::judge_all() does with the rulebooks that are enforced together.
  // REQUIRES: at least one call; their keys share a hash tag, and all keys differ.
  std::vector<Outcome> judge_together(std::span<const Call* const> calls);
  LeaseOutcome release(std::span<const LeaseRef> leases);
  LeaseOutcome renew(std::span<const LeaseRef> leases);
  void put_overrides(std::string_view counter_key, std::span<const OverrideEntry> entries);
  void reset(std::string_view counter_key);  // as lua/reset.lua

  void forget_expired();                                // in all cells; each decision checks a few cells anyway
  std::size_t size() const;                             // stored keys, including expired ones that were not swept yet
  std::size_t bytes() const { return budget_.used(); }  // what they take, roughly
  // Calls that an overflow counter has judged.
  std::uint64_t overflowed() const { return overflowed_.load(std::memory_order_relaxed); }

 private:
  struct alignas(64) Shard {
    explicit Shard(MemoryBudget& budget) : cells(budget) {}
    mutable std::mutex mutex;
    CellTable cells;
  };
  using Cells = std::array<Cell*, kMaxLimitsPerPlan>;  // by group
  struct Place {                                       // where a call is judged
    Shard* shard = nullptr;
    std::unique_lock<std::mutex> lock;
    std::int64_t now_us = 0;
    Cells cells{};
  };

  Shard& shard_of(const HashedKey& key);
  std::optional<Place> find(const Call& call, bool may_begin);
  void make_room(const Call& call);
  Outcome judge_in(Place place, const Call& call);
  template <class Each>
  void for_each_lease_at(const std::string& counter_key, const LeaseRef& lease, Each each);
  template <class Each>
  void for_each_lease(std::span<const LeaseRef> leases, Each each);

  const Clock& clock_;
  MemoryBudget budget_;
  std::atomic<std::uint64_t> overflowed_{0};
  std::deque<Shard> shards_;
};

class MemoryStore final : public CounterStore {
 public:
  explicit MemoryStore(MemoryCounters& counters) : counters_(counters) {}

  void judge(const Call& call, JudgeListener& listener) override { listener.judged(counters_.judge(call)); }
  void judge_all(std::span<const RulebookCall> calls) override;
  void release(std::span<const LeaseRef> leases, const Origin&, LeaseListener& listener) override {
    listener.settled(counters_.release(leases));
  }
  void renew(std::span<const LeaseRef> leases, const Origin&, LeaseListener& listener) override {
    listener.settled(counters_.renew(leases));
  }
  void put_overrides(std::string_view key, std::span<const OverrideEntry> entries,
                     OverrideListener& listener) override {
    counters_.put_overrides(key, entries);
    listener.stored({});
  }

 private:
  MemoryCounters& counters_;
};

}  // namespace sluice::limiter
