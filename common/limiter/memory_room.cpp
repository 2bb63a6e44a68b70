// MemoryCounters::judge(): finds the cells (cell.hpp) of a call, and makes the missing cells. judge_single() is a short
// way for most calls. judge_short() is for calls for which the memory budget may not have room (memory_store.hpp says
// what happens to them).
#include <algorithm>
#include <cassert>
#include <utility>

#include "common/limiter/memory_judge.hpp"
#include "common/limiter/memory_store.hpp"

namespace sluice::limiter {

namespace {

HashedKey first_key(const Call& call) {
  if (!call.first_hash) return HashedKey(call.keys[0]);
  assert(call.first_hash == CounterHash::of(call.keys[0]));
  return {call.keys[0], call.first_hash};
}

}  // namespace

// A call of one limit, on a cell that has nothing but its counter. Returns false, and has changed nothing but a cell
// that it made, if the call needs more than that.
bool MemoryCounters::judge_single(const Call& call, Outcome& out) {
  const HashedKey key = first_key(call);
  Shard& shard = shard_of(key);
  const Lock lock = hold(shard);
  shard.cells.prefetch(key);
  const std::int64_t now_us = clock_.now_us();
  Cell* cell = shard.cells.find(key);
  if (cell == nullptr) {
    if (!budget_.admits(key.text)) return false;
    cell = &shard.cells.add(key);
  }
  if (!judge_single_in_memory(call, *cell, now_us, out)) return false;
  shard.cells.sweep(static_cast<double>(now_us));
  return true;
}

// Returns nullopt if a cell is missing and the budget does not allow a new cell.
std::optional<MemoryCounters::LockedCells> MemoryCounters::find(const Call& call) {
  const HashedKey first = first_key(call);
  Shard& shard = shard_of(first);
  LockedCells found{.shard = &shard, .lock = hold(shard), .now_us = 0, .cells = {}};
  shard.cells.prefetch(first);
  found.now_us = clock_.now_us();
  for (std::size_t g = 0; g < call.program->groups.size(); ++g) {
    const HashedKey key = g == 0 ? first : HashedKey(call.keys[g]);
    found.cells[g] = shard.cells.find(key);
    if (found.cells[g] != nullptr) continue;
    if (!budget_.admits(key.text)) return std::nullopt;
    found.cells[g] = &shard.cells.add(key);
  }
  return found;
}

// Counts the memory of a call's cells at its end, also if an allocation has failed in between.
class MemoryCounters::Accounting {
 public:
  Accounting(CellTable& table, const Call& call, std::span<Cell* const> cells)
      : table_(table), call_(call), cells_(cells) {
    for (std::size_t g = 0; g < cells.size(); ++g) before_[g] = cells[g]->extra_bytes();
  }
  ~Accounting() {
    for (std::size_t g = 0; g < cells_.size(); ++g) table_.grown(call_.keys[g], *cells_[g], before_[g]);
  }
  Accounting(const Accounting&) = delete;
  Accounting& operator=(const Accounting&) = delete;

 private:
  CellTable& table_;
  const Call& call_;
  std::span<Cell* const> cells_;
  std::array<std::size_t, kMaxLimitsPerPlan> before_;
};

Outcome MemoryCounters::judge_in(LockedCells locked, const Call& call) {
  const Program& program = *call.program;
  const std::span cells(locked.cells.data(), program.groups.size());
  std::array<PeriodBounds, kMaxLimitsPerPlan> periods;
  if (program.has_quotas) quota_periods(program, locked.now_us, periods);
  std::optional<Outcome> outcome;
  {
    const Accounting accounting(locked.shard->cells, call, cells);
    outcome = judge_in_memory(call, cells, periods, locked.now_us);
  }
  locked.shard->cells.sweep(static_cast<double>(locked.now_us));
  return *std::move(outcome);
}

void MemoryCounters::judge(const Call& call, StoreResult<Outcome>& out) {
  if (call.program->is_single) {
    if (out)
      out->clear();
    else
      out.emplace();
    if (judge_single(call, *out)) return;
  }
  const bool may_grow = call.program->collections == 0 || budget_.admits(call.keys[0]);
  if (may_grow) {
    if (std::optional<LockedCells> cells = find(call)) {
      out = judge_in(*std::move(cells), call);
      return;
    }
  }
  const Call* const only = &call;
  out = std::move(judge_short({&only, 1}).front());
}

std::vector<StoreResult<Outcome>> MemoryCounters::judge_together(std::span<const Call* const> calls) {
  return judge_short(calls);
}

// Judges calls whose keys share one hash tag. Their own cells are in one shard, their overflow counters in another.
class MemoryCounters::ShortJudging {
 public:
  ShortJudging(MemoryCounters& counters, std::span<const Call* const> calls)
      : budget_(counters.budget_),
        calls_(calls),
        own_(counters.shard_of(HashedKey(calls[0]->keys[0]))),
        overflow_(counters.shard_of(HashedKey(overflow_key(calls[0]->keys[0])))),
        own_lock_(own_.mutex, std::defer_lock),
        overflow_lock_(overflow_.mutex, std::defer_lock),
        places_(calls.size()),
        outcomes_(calls.size()) {
    if (counters.shared_) lock();
    now_us_ = counters.clock_.now_us();
  }

  // Removes expired counters. REQUIRES: find() has not been called.
  void make_room() { own_.cells.sweep_harder(static_cast<double>(now_us_)); }

  // Returns false if the budget allows neither a counter of the call's own nor a new overflow counter.
  bool find() {
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      const Call& call = *calls_[i];
      for (std::size_t g = 0; g < call.program->groups.size(); ++g) {
        if (!find_place(call.keys[g], places_[i].groups[g])) return false;
        places_[i].overflows |= places_[i].groups[g].is_overflow;
        places_[i].cells[g] = places_[i].groups[g].cell;
      }
    }
    return true;
  }

  // Returns false if the calls are admitted but would take leases for which there is no room.
  bool judge() {
    bool may_charge = true;
    std::vector<MemoryPart> parts;
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      const Program& program = *calls_[i]->program;
      if (program.has_quotas) quota_periods(program, now_us_, places_[i].periods);
      parts.push_back({calls_[i], std::span(places_[i].cells.data(), program.groups.size()), places_[i].periods});
      for (std::size_t rule = 0; rule < program.rules.size(); ++rule) {
        if (!program.rules[rule].takes_leases || calls_[i]->costs[rule] == 0) continue;
        may_charge = may_charge && has_room_for_lease(calls_[i]->keys[0], places_[i].groups[program.rules[rule].group]);
      }
    }
    {
      const Accounting accounting{*this};
      judge_together_in_memory(parts, now_us_, outcomes_,
                               may_charge);  // returns true: the periods are those at now_us_
    }
    sweep();
    return may_charge || !std::ranges::all_of(outcomes_, &Outcome::allowed);
  }

  std::size_t overflowed() const {
    return static_cast<std::size_t>(std::ranges::count(places_, true, &CallPlaces::overflows));
  }
  std::vector<StoreResult<Outcome>> results() {
    return {std::move_iterator(outcomes_.begin()), std::move_iterator(outcomes_.end())};
  }

 private:
  void lock() {
    if (&own_ == &overflow_) return own_lock_.lock();
    std::lock(own_lock_, overflow_lock_);
  }

  struct GroupPlace {
    Shard* shard = nullptr;
    Cell* cell = nullptr;
    bool is_overflow = false;
    std::size_t bytes_before = 0;
  };
  struct CallPlaces {
    std::array<GroupPlace, kMaxLimitsPerPlan> groups;
    Cells cells{};
    std::array<PeriodBounds, kMaxLimitsPerPlan> periods{};
    bool overflows = false;
  };

  struct Accounting {
    ShortJudging& judging;
    ~Accounting() { judging.account(); }
  };

  bool find_place(std::string_view counter_key, GroupPlace& place) {
    const HashedKey key(counter_key);
    place = {.shard = &own_, .cell = own_.cells.find(key)};
    if (place.cell == nullptr && budget_.admits(counter_key)) place.cell = &own_.cells.add(key);
    if (place.cell == nullptr && !find_overflow(overflow_key(counter_key), place)) return false;
    place.bytes_before = place.cell->extra_bytes();
    return true;
  }

  bool find_overflow(std::string_view text, GroupPlace& place) {
    const HashedKey key(text);
    place = {.shard = &overflow_, .cell = overflow_.cells.find(key), .is_overflow = true};
    if (place.cell == nullptr && budget_.admits_overflow()) place.cell = &overflow_.cells.add(key);
    return place.cell != nullptr;
  }

  bool has_room_for_lease(std::string_view counter_key, const GroupPlace& place) const {
    return place.is_overflow ? budget_.admits_overflow_lease() : budget_.admits(counter_key);
  }

  // Counts the memory of the cells, and takes from logs the entries for which there is no room.
  void account() {
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      for (std::size_t g = 0; g < calls_[i]->program->groups.size(); ++g) {
        const std::string& key = calls_[i]->keys[g];
        const GroupPlace& place = places_[i].groups[g];
        const bool grew = place.cell->extra_bytes() > place.bytes_before;
        if (grew && !budget_.admits(key)) place.cell->merge_newest();
        place.shard->cells.grown(key, *place.cell, place.bytes_before);
      }
    }
  }

  void sweep() {
    own_.cells.sweep(static_cast<double>(now_us_));
    if (&own_ != &overflow_) overflow_.cells.sweep(static_cast<double>(now_us_));
  }

  MemoryBudget& budget_;
  std::span<const Call* const> calls_;
  Shard& own_;
  Shard& overflow_;
  Lock own_lock_;
  Lock overflow_lock_;
  std::int64_t now_us_ = 0;
  std::vector<CallPlaces> places_;  // by call
  std::vector<Outcome> outcomes_;   // by call
};

std::vector<StoreResult<Outcome>> MemoryCounters::judge_short(std::span<const Call* const> calls) {
  ShortJudging judging(*this, calls);
  if (!budget_.admits(calls[0]->keys[0])) judging.make_room();
  if (!judging.find() || !judging.judge()) {
    refused_.fetch_add(calls.size(), std::memory_order_relaxed);
    return std::vector<StoreResult<Outcome>>(calls.size(), std::unexpected(StoreError{StoreFault::overload, false}));
  }
  overflowed_.fetch_add(judging.overflowed(), std::memory_order_relaxed);
  return judging.results();
}

}  // namespace sluice::limiter
