// Judges calls on cells (cell.hpp), as lua/check/ does on keys in Redis.
#pragma once

#include <optional>
#include <span>

#include "common/domain/quota_period.hpp"
#include "common/limiter/cell.hpp"

namespace sluice::limiter {

// Charges all limits of the call's program if all admit. A denial changes a cell only to correct its times after the
// clock has stepped back. `cells[i]` is the cell of call.keys[i]; `periods` come from quota_periods().
// Returns nullopt if `now_us` is outside the period of a quota. REQUIRES: no other thread uses the cells.
std::optional<Outcome> judge_in_memory(const Call& call, std::span<Cell* const> cells,
                                       std::span<const PeriodBounds> periods, std::int64_t now_us);

// As judge_in_memory(), but quicker, for most calls. Returns false without a change to the cell if the call is not
// explained by one limit and the cell's counter of that limit alone. REQUIRES: call.program->is_single.
bool judge_single_in_memory(const Call& call, Cell& cell, std::int64_t now_us, Outcome& out);

// The parameters of judge_in_memory() for one of several rulebooks.
struct MemoryPart {
  const Call* call = nullptr;
  std::span<Cell* const> cells;
  std::span<const PeriodBounds> periods;
};
// Charges all parts if all admit and `may_charge` is true. out[i].allowed says whether part i admits. Returns false if
// `now_us` is outside the period of a quota. REQUIRES: no two parts have a cell in common.
bool judge_together_in_memory(std::span<const MemoryPart> parts, std::int64_t now_us, std::span<Outcome> out,
                              bool may_charge = true);

// The index of the denying limit with the longest wait or, if none denies, of the limit with the smallest remaining
// share among those that the call spends from; a call that spends nothing reads all. On a tie the first limit of the
// plan counts. reports[i] is for call.program->rules[i].
std::size_t binding_limit(const Call& call, std::span<const LimitReport> reports);

// Sets outcome.marks. `reports`: as for binding_limit(), after the call was charged.
void find_quota_marks(const Call& call, std::span<const LimitReport> reports, Outcome& outcome);

// For each i for which program.rules[i] is a quota, writes the bounds of the period at `now_us` into out[i].
void quota_periods(const Program& program, std::int64_t now_us, std::span<PeriodBounds> out);

}  // namespace sluice::limiter
