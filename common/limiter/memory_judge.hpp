// Judges in memory: does with cells what lua/check/ does with keys in Redis.
#pragma once

#include <optional>
#include <span>

#include "common/domain/quota_period.hpp"
#include "common/limiter/cell.hpp"

namespace sluice::limiter {

// Judges all limits of the call's program and, if all admit, charges all of them. A denial writes nothing, unless the
// clock has stepped back.
// `cells` are those of call.keys; `periods`, by rule, are the quotas' bounds.
// Returns nullopt if `now_us` is outside the period of a quota.
// REQUIRES: no other thread uses the cells.
std::optional<Outcome> judge_in_memory(const Call& call, std::span<Cell* const> cells,
                                       std::span<const PeriodBounds> periods, std::int64_t now_us);

// One of several rulebooks that are judged together: its call, its cells and its quotas' bounds, as above.
struct MemoryPart {
  const Call* call = nullptr;
  std::span<Cell* const> cells;
  std::span<const PeriodBounds> periods;
};
// Judges all parts and, if all admit, charges all of them. out[i].allowed says whether part i admits.
// Returns false, and charges nothing, if `now_us` is outside the period of a quota.
// REQUIRES: all cells differ.
bool judge_together_in_memory(std::span<const MemoryPart> parts, std::int64_t now_us, std::span<Outcome> out);

// Returns the binding limit, as an index into `reports`, which are by rule. If limits deny, it is the denying limit
// with the longest wait, else the limit with the smallest remaining share. On a tie it is the first one in the plan.
std::size_t binding_limit(const Program& program, std::span<const LimitReport> reports);

// Writes the bounds of each quota's period at `now_us` into `out`, by rule. Elements of other limits do not change.
void quota_periods(const Program& program, std::int64_t now_us, std::span<PeriodBounds> out);

}  // namespace sluice::limiter
