// Counters in the memory of this process: for agents without Redis (--counters memory), and for failure mode
// fail_degrade.
//
// When memory is short, expired counters are removed first. If that is not enough, then for tenants that use more than
// their share (memory_budget.hpp):
// - New identities are counted together in overflow counters, so each identity may get less than its limit. An identity
//   that later gets its own counter can use its limit again. Counters that exist stay in use.
// - A log gets no further entries: a charge joins the newest entry, and both come back later than they otherwise would.
// - A call that would take a lease is refused with StoreFault::overload. Leases are given back as always.
// Overflow counters have a part of the memory of their own. When that is full as well, calls that need another one are
// refused with StoreFault::overload.
//
// A process has one MemoryCounters: with two, callers could use each limit twice. Any thread may use it, unless it was
// made for one thread; a decision locks one shard. Each worker thread has its own MemoryStore.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
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
  enum class UsedBy : std::uint8_t {
    any_thread,
    // All calls come from one thread, or the caller orders them, so nothing is locked. Any thread may still call
    // set_tenants(), and whatever reads numbers: size(), bytes(), limit_bytes(), overflowed() and refused().
    one_thread,
  };

  // `shards`: a power of two.
  explicit MemoryCounters(const Clock& clock, std::size_t shards = 64,
                          std::size_t limit_bytes = MemoryBudget::kUnlimited, UsedBy used_by = UsedBy::any_thread);

  // The one possible error is StoreFault::overload; nothing is charged then. If an allocation fails, throws
  // std::bad_alloc; the call may then be charged in part.
  void judge(const Call& call, StoreResult<Outcome>& out);  // uses the memory of `out` again
  StoreResult<Outcome> judge(const Call& call) {
    StoreResult<Outcome> out;
    judge(call, out);
    return out;
  }
  // Charges all calls if all are admitted, otherwise none. An error is that of all calls.
  // REQUIRES: at least one call; the keys of all calls share one hash tag, and no two keys are equal.
  std::vector<StoreResult<Outcome>> judge_together(std::span<const Call* const> calls);
  LeaseOutcome release(std::span<const LeaseRef> leases);
  LeaseOutcome renew(std::span<const LeaseRef> leases);
  void put_overrides(std::string_view counter_key, std::span<const OverrideEntry> entries);
  void reset(std::string_view counter_key);  // overrides stay

  // How many tenants share the memory: those of the policies in force.
  void set_tenants(std::size_t count) { budget_.set_tenants(count); }

  // Removes all expired counters. judge() removes only a few at a time.
  void forget_expired();
  std::size_t size() const;                             // stored keys, including expired ones not removed yet
  std::size_t bytes() const { return budget_.used(); }  // roughly
  std::size_t limit_bytes() const { return budget_.limit(); }
  // How many calls were judged by overflow counters.
  std::uint64_t overflowed() const { return overflowed_.load(std::memory_order_relaxed); }
  // How many calls were refused with StoreFault::overload.
  std::uint64_t refused() const { return refused_.load(std::memory_order_relaxed); }

 private:
  struct alignas(64) Shard {
    explicit Shard(MemoryBudget& budget) : cells(budget) {}
    mutable std::mutex mutex;
    CellTable cells;
  };
  using Lock = std::unique_lock<std::mutex>;
  using Cells = std::array<Cell*, kMaxLimitsPerPlan>;  // one for each of Program::groups
  struct LockedCells {
    Shard* shard = nullptr;
    Lock lock;
    std::int64_t now_us = 0;
    Cells cells{};
  };

  class Accounting;    // memory_room.cpp
  class ShortJudging;  // memory_room.cpp

  Shard& shard_of(const HashedKey& key) { return *shards_[(key.hash.tag >> 20) & (shards_.size() - 1)]; }
  Lock hold(const Shard& shard) const { return shared_ ? Lock(shard.mutex) : Lock(shard.mutex, std::defer_lock); }
  bool judge_single(const Call& call, Outcome& out);
  std::optional<LockedCells> find(const Call& call);
  static Outcome judge_in(LockedCells locked, const Call& call);
  std::vector<StoreResult<Outcome>> judge_short(std::span<const Call* const> calls);
  template <class Each>
  void for_each_lease_at(const std::string& counter_key, const LeaseRef& lease, Each each);
  template <class Each>
  void for_each_lease(std::span<const LeaseRef> leases, Each each);

  const Clock& clock_;
  MemoryBudget budget_;
  const bool shared_;  // by threads
  std::atomic<std::uint64_t> overflowed_{0};
  std::atomic<std::uint64_t> refused_{0};
  std::vector<std::optional<Shard>> shards_;  // all are there; optional, because a vector cannot pass the budget
};

class MemoryStore final : public CounterStore {
 public:
  explicit MemoryStore(MemoryCounters& counters) : counters_(counters) {}

  void judge(const Call& call, JudgeListener& listener) override { listener.judged(counters_.judge(call)); }
  bool judge_at_once(const Call& call, StoreResult<Outcome>& out) override {
    counters_.judge(call, out);
    return true;
  }
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
