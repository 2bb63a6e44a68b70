// Counters in the memory of this process, for embedded agents and for tests.
//
// MemoryCounters holds the counters. A process has one such object: with two, every limit would be admitted twice.
// Any thread may use it; the keys are divided among shards, and a decision locks one shard. MemoryStore is a worker's
// CounterStore on these counters; it calls listeners before it returns.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/clock.hpp"
#include "common/limiter/cell_table.hpp"

namespace sluice::limiter {

class MemoryCounters {
 public:
  // `shards`: a power of two. The more shards, the less threads wait for each other.
  explicit MemoryCounters(const Clock& clock, std::size_t shards = 64);

  Outcome judge(const Call& call);
  // As CounterStore::judge_all() does with the rulebooks that are enforced together.
  // REQUIRES: at least one call; their keys share a hash tag, and all keys differ.
  std::vector<Outcome> judge_together(std::span<const Call* const> calls);
  LeaseOutcome release(std::span<const LeaseRef> leases);
  LeaseOutcome renew(std::span<const LeaseRef> leases);
  void put_overrides(std::string_view counter_key, std::span<const OverrideEntry> entries);
  void reset(std::string_view counter_key);  // as lua/reset.lua

  void forget_expired();     // in all cells; each decision checks a few cells anyway
  std::size_t size() const;  // stored keys, including expired ones that were not swept yet

 private:
  struct alignas(64) Shard {
    mutable std::mutex mutex;
    CellTable cells;
  };

  Shard& shard_of(const HashedKey& key);
  template <class Each>
  void for_each_lease(std::span<const LeaseRef> leases, Each each);

  const Clock& clock_;
  std::vector<Shard> shards_;
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
