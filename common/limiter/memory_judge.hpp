// Judges calls in memory: does with cells (cell.hpp) what lua/check/ does with keys in Redis.
#pragma once

#include <optional>
#include <span>

#include "common/domain/quota_period.hpp"
#include "common/limiter/cell.hpp"

namespace sluice::limiter {

// Judges all limits of the call's program and, if all admit, charges all of them. A denial writes nothing, unless the
// clock has stepped back: then it corrects the stored times.
// `cells[i]` is the cell of call.keys[i]. `periods`: as quota_periods() writes them.
// Returns nullopt if `now_us` is outside the period of a quota.
// REQUIRES: no other thread uses the cells.
std::optional<Outcome> judge_in_memory(const Call& call, std::span<Cell* const> cells,
                                       std::span<const PeriodBounds> periods, std::int64_t now_us);

// One of several rulebooks that are judged together. The members are parameters of judge_in_memory().
struct MemoryPart {
  const Call* call = nullptr;
  std::span<Cell* const> cells;
  std::span<const PeriodBounds> periods;
};
// Judges all parts and, if all admit, charges all of them. out[i].allowed says whether part i admits.
// Returns false, and charges nothing, if `now_us` is outside the period of a quota.
// REQUIRES: no two parts have a cell in common.
bool judge_together_in_memory(std::span<const MemoryPart> parts, std::int64_t now_us, std::span<Outcome> out);

// Returns the index of the binding limit. reports[i] is the report on program.rules[i]. If limits deny, the binding
// limit is the one of them with the longest wait; else it is the limit with the smallest remaining share. On a tie it
// is the first one in the plan.
std::size_t binding_limit(const Program& program, std::span<const LimitReport> reports);

// For each rule i that is a quota, writes the bounds of its period at `now_us` into out[i]. Other elements do not
// change.
void quota_periods(const Program& program, std::int64_t now_us, std::span<PeriodBounds> out);

}  // namespace sluice::limiter
