// Quota of a calendar period. In Redis: lua/check/quota.lua. The counter has one value: the units used.
// Terms::p and Terms::q are the bounds of the period, [p, q), in µs, and are computed for each call.
#pragma once

#include <array>
#include <cstdint>

#include "common/domain/plan.hpp"
#include "common/limiter/algorithms/algorithm.hpp"

namespace sluice::limiter {

// Parameters: see KindTraits::judge and KindTraits::charge (traits.hpp). REQUIRES: now in [p, q).
Judged judge_quota(const Terms& terms, double* values, double now, double last);
Charged charge_quota(const Terms& terms, double* values, double now, double charge, bool allowed);

// The shares of a quota, in percent, that are worth telling when a charge reaches them.
inline constexpr std::array<std::uint8_t, 2> kQuotaMarks{80, 100};

// Whether a charge of `cost` units, after which `used` units are used, has reached `percent` of the limit. Of all the
// charges of one counter exactly one does, whichever agent makes it. REQUIRES: limit and used up to kMaxLimit.
constexpr bool reaches_mark(std::int64_t limit, std::int64_t used, std::int64_t cost, std::int64_t percent) {
  return limit > 0 && used * 100 >= limit * percent && (used - cost) * 100 < limit * percent;
}

// The text of the period and its anchor (the time that periods are counted from), for AlgorithmTraits::counter_text.
std::string period_text(const Limit& limit);

}  // namespace sluice::limiter
