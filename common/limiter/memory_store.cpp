#include "common/limiter/memory_store.hpp"

#include <algorithm>
#include <cmath>

#include "common/limiter/algorithms/lease_set.hpp"

namespace sluice::limiter {
namespace {

// How long counters stay after an override without expiry is removed, as in lua/overrides.lua: two of the longest
// windows.
constexpr double kGarbageMs = 2 * 366 * 86400000.0;

double latest_expiry_us(std::span<const OverrideEntry> entries) {
  double latest = 0;
  for (const OverrideEntry& entry : entries) latest = std::max(latest, entry.expires_us);
  return latest;
}

}  // namespace

MemoryCounters::MemoryCounters(const Clock& clock, std::size_t shards, std::size_t limit_bytes, UsedBy used_by)
    : clock_(clock), budget_(limit_bytes), shared_(used_by == UsedBy::any_thread), shards_(shards) {
  for (std::optional<Shard>& shard : shards_) shard.emplace(budget_);
}

void MemoryStore::judge_all(std::span<const RulebookCall> calls) {
  const std::size_t enforced = enforced_count(calls);
  if (enforced > 1) {
    std::vector<const Call*> together;
    for (const RulebookCall& each : calls.first(enforced)) together.push_back(each.call);
    std::vector<StoreResult<Outcome>> outcomes = counters_.judge_together(together);
    for (std::size_t i = 0; i < enforced; ++i) calls[i].listener->judged(std::move(outcomes[i]));
    calls = calls.subspan(enforced);
  }
  for (const RulebookCall& each : calls) judge(*each.call, *each.listener);
}

template <class Each>
void MemoryCounters::for_each_lease_at(const std::string& counter_key, const LeaseRef& lease, Each each) {
  const HashedKey key(counter_key);
  Shard& shard = shard_of(key);
  const Lock lock = hold(shard);
  auto now = static_cast<double>(clock_.now_us());
  Cell* cell = shard.cells.find(key);
  if (cell == nullptr) return;
  const CellChange change(shard.cells, key.text, *cell);
  cell->forget_expired(now);
  CellExtras* extras = cell->existing_extras();
  Entries* const found = extras == nullptr ? nullptr : extras->find(Kind::lease, lease.limit_name);
  if (found != nullptr) each(static_cast<LeaseSet&>(*found), lease.member, now);
}

template <class Each>
void MemoryCounters::for_each_lease(std::span<const LeaseRef> leases, Each each) {
  for (const LeaseRef& lease : leases) {
    for_each_lease_at(lease.counter_key, lease, each);
    for_each_lease_at(overflow_key(lease.counter_key), lease, each);  // the lease may be there
  }
}

LeaseOutcome MemoryCounters::release(std::span<const LeaseRef> leases) {
  LeaseOutcome outcome;
  for_each_lease(leases, [&](LeaseSet& set, const std::string& member, double now) {
    if (set.release(member, now)) outcome.live = true;
  });
  return outcome;
}

LeaseOutcome MemoryCounters::renew(std::span<const LeaseRef> leases) {
  LeaseOutcome outcome;
  for_each_lease(leases, [&](LeaseSet& set, const std::string& member, double now) {
    auto expires = static_cast<std::int64_t>(set.renew(member, now));
    if (expires == 0) return;
    outcome.expires_at_us = outcome.live ? std::min(outcome.expires_at_us, expires) : expires;
    outcome.live = true;
  });
  return outcome;
}

void MemoryCounters::put_overrides(std::string_view counter_key, std::span<const OverrideEntry> entries) {
  const HashedKey key(counter_key);
  Shard& shard = shard_of(key);
  const Lock lock = hold(shard);
  auto now = static_cast<double>(clock_.now_us());
  shard.cells.sweep(now);
  Cell& cell = shard.cells.cell(key);
  const CellChange change(shard.cells, key.text, cell);
  cell.forget_expired(now);
  cell.extras().overrides.assign(entries.begin(), entries.end());
  const double now_ms = std::floor(now / 1000);
  double until = std::max(now_ms + std::ceil((latest_expiry_us(entries) - now) / 1000), 0.0);
  if (!cell.ids().empty()) {  // counters keep their own expiry
    const bool forever = std::isinf(cell.expires_ms);
    until = std::max(until, forever ? now_ms + kGarbageMs : std::max(cell.expires_ms, now_ms + 1));
  }
  cell.expires_ms = until > now_ms ? until : 0;
}

void MemoryCounters::reset(std::string_view counter_key) {
  const HashedKey key(counter_key);
  Shard& shard = shard_of(key);
  const Lock lock = hold(shard);
  auto now = static_cast<double>(clock_.now_us());
  Cell* cell = shard.cells.find(key);
  if (cell == nullptr) return;
  const CellChange change(shard.cells, key.text, *cell);
  cell->forget_expired(now);
  const double now_ms = std::floor(now / 1000);
  const double until = now_ms + std::ceil((latest_expiry_us(cell->overrides()) - now) / 1000);
  cell->reset();
  cell->expires_ms = until > now_ms ? until : 0;
}

void MemoryCounters::forget_expired() {
  for (std::optional<Shard>& shard : shards_) {
    const Lock lock = hold(*shard);
    shard->cells.sweep_all(static_cast<double>(clock_.now_us()));
  }
}

std::size_t MemoryCounters::size() const {
  std::size_t total = 0;
  for (const std::optional<Shard>& shard : shards_) total += shard->cells.size();
  return total;
}

}  // namespace sluice::limiter
