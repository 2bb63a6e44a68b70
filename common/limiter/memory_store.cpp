#include "common/limiter/memory_store.hpp"

#include <algorithm>

#include "common/limiter/memory_judge.hpp"

namespace sluice::limiter {
namespace {

// How long counters stay when an override that never ended is gone: as lua/overrides.lua.
constexpr double kGarbageMs = 366 * 86400000.0;

// All keys of one decision share what is before the first '}' (the Cluster hash tag), and so their shard.
std::string_view tag_of(std::string_view state_key) { return state_key.substr(0, state_key.find('}')); }

}  // namespace

MemoryCounters::MemoryCounters(const Clock& clock, std::size_t shards) : clock_(clock), shards_(shards) {}

MemoryCounters::Shard& MemoryCounters::shard_of(std::string_view state_key) {
  return shards_[(Hash()(tag_of(state_key)) >> 20) & (shards_.size() - 1)];
}

Cell& MemoryCounters::cell_of(Shard& shard, std::string_view state_key) {
  auto found = shard.cells.find(state_key);
  if (found == shard.cells.end()) {
    shard.sweeps_due += 2;
    found = shard.cells.try_emplace(std::string(state_key)).first;
  }
  return found->second;
}

// Two buckets for each new key: garbage stays below half of what is kept, and nobody waits for a whole sweep.
// Only between decisions: it removes cells.
void MemoryCounters::sweep(Shard& shard, double now) {
  for (; shard.sweeps_due > 0; --shard.sweeps_due) {
    std::size_t bucket = shard.next_bucket++ % shard.cells.bucket_count();
    for (auto cell = shard.cells.begin(bucket); cell != shard.cells.end(bucket);) {
      cell->second.forget_expired(now);
      auto here = cell++;
      if (here->second.empty()) shard.cells.erase(shard.cells.find(here->first));
    }
  }
}

Outcome MemoryCounters::judge(const Call& call) {
  const Program& program = *call.program;
  Shard& shard = shard_of(call.keys[0]);
  std::lock_guard lock(shard.mutex);
  std::int64_t now = clock_.now_us();
  std::array<PeriodBounds, kMaxLimitsPerPlan> periods;
  if (program.has_quotas) quota_periods(program, now, periods);
  sweep(shard, static_cast<double>(now));
  std::array<Cell*, kMaxLimitsPerPlan> cells;
  for (std::size_t g = 0; g < program.groups.size(); ++g) {
    cells[g] = &cell_of(shard, call.keys[g]);
  }
  return *judge_in_memory(call, std::span(cells.data(), program.groups.size()), periods, now);
}

template <class Each>
void MemoryCounters::for_each_lease(std::span<const LeaseRef> leases, Each each) {
  for (const LeaseRef& lease : leases) {
    Shard& shard = shard_of(lease.state_key);
    std::lock_guard lock(shard.mutex);
    auto now = static_cast<double>(clock_.now_us());
    auto cell = shard.cells.find(lease.state_key);
    if (cell == shard.cells.end()) continue;
    cell->second.forget_expired(now);
    if (!cell->second.collections) continue;
    auto found = cell->second.collections->leases.find(lease.limit_name);
    if (found != cell->second.collections->leases.end()) each(found->second, lease.member, now);
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

void MemoryCounters::put_overrides(std::string_view state_key, std::span<const OverrideEntry> entries) {
  Shard& shard = shard_of(state_key);
  std::lock_guard lock(shard.mutex);
  auto now = static_cast<double>(clock_.now_us());
  sweep(shard, now);
  Cell& cell = cell_of(shard, state_key);
  cell.forget_expired(now);
  cell.overrides.assign(entries.begin(), entries.end());
  double lives_until = 0;
  for (const OverrideEntry& entry : entries) lives_until = std::max(lives_until, entry.expires_us);
  const double now_ms = std::floor(now / 1000);
  double until = std::max(now_ms + std::ceil((lives_until - now) / 1000), 0.0);
  if (!cell.ids.empty()) {  // counters stay as long as they would have
    const bool forever = std::isinf(cell.expires_ms);
    until = std::max(until, forever ? now_ms + kGarbageMs : std::max(cell.expires_ms, now_ms + 1));
  }
  cell.expires_ms = until > now_ms ? until : 0;
}

void MemoryCounters::forget_expired() {
  for (Shard& shard : shards_) {
    std::lock_guard lock(shard.mutex);
    shard.sweeps_due = shard.cells.bucket_count();
    sweep(shard, static_cast<double>(clock_.now_us()));
  }
}

std::size_t MemoryCounters::size() const {
  std::size_t total = 0;
  for (const Shard& shard : shards_) {
    std::lock_guard lock(shard.mutex);
    total += shard.cells.size();
  }
  return total;
}

}  // namespace sluice::limiter
