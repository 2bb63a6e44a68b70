// Counters in this process: for embedded mode, tests, and when Redis cannot be asked.
//
// MemoryCounters: the counters themselves, one for the process (N would be N limits); safe from any thread, sharded by
// key, one lock a decision. MemoryStore: a worker's view of them; answers before it returns.
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
  // `shards`: a power of two; one for each few threads that judge at once.
  explicit MemoryCounters(const Clock& clock, std::size_t shards = 64);

  Outcome judge(const Call& call);
  // As CounterStore::judge_all() does with the rulebooks that are enforced together.
  // REQUIRES: at least one call; their keys share a hash tag, and none stands twice.
  std::vector<Outcome> judge_together(std::span<const Call* const> calls);
  LeaseOutcome release(std::span<const LeaseRef> leases);
  LeaseOutcome renew(std::span<const LeaseRef> leases);
  void put_overrides(std::string_view state_key, std::span<const OverrideEntry> entries);
  void reset(std::string_view state_key);  // as lua/reset.lua

  void forget_expired();     // all at once; decisions do it bit by bit
  std::size_t size() const;  // keys kept, expired ones too until they are swept

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
  void release(std::span<const LeaseRef> leases, LeaseListener& listener) override {
    listener.settled(counters_.release(leases));
  }
  void renew(std::span<const LeaseRef> leases, LeaseListener& listener) override {
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
