// One decision in memory: what lua/check.lua does in Redis, on cells instead of keys.
#pragma once

#include <optional>
#include <span>

#include "common/domain/quota_period.hpp"
#include "common/limiter/cell.hpp"

namespace sluice::limiter {

// Judges all limits of the call's program and, if all admit, charges all of them; a denial writes nothing.
// `cells` are those of call.keys; `periods`, by rule, are the quotas' bounds.
// Returns nothing where a quota's period does not hold now.
// REQUIRES: the caller has the cells to itself.
std::optional<Outcome> judge_in_memory(const Call& call, std::span<Cell* const> cells,
                                       std::span<const PeriodBounds> periods, std::int64_t now_us);

// One of several rulebooks that are judged together: its call, its cells and its quotas' bounds, as above.
struct MemoryPart {
  const Call* call = nullptr;
  std::span<Cell* const> cells;
  std::span<const PeriodBounds> periods;
};
// Judges all parts and, if all admit, charges all of them. out[i].allowed says whether part i admits.
// Returns false, and charges nothing, where a quota's period does not hold now.
// REQUIRES: no cell stands twice.
bool judge_together_in_memory(std::span<const MemoryPart> parts, std::int64_t now_us, std::span<Outcome> out);

// The limit a decision reports: of those that deny the one with the longest wait, else the one with the smallest share
// left; the first in plan order on a tie. Index into `reports`, which are by rule.
std::size_t binding_limit(const Program& program, std::span<const LimitReport> reports);

// The bounds of every quota of the program at `now_us`; others are left as they are.
void quota_periods(const Program& program, std::int64_t now_us, std::span<PeriodBounds> out);

}  // namespace sluice::limiter
