// Sliding window counter. In Redis: lua/check/sliding_window.lua. Windows are aligned to the Unix epoch. The count of
// the previous window is weighted by the share of that window that is still inside the sliding window.
//
// Of the rule's parameters (Rule in program.hpp), p is the window, and q is the tick, both in µs. The time left in the
// window is rounded up to whole ticks. The state has two values: the counts of the previous and of the current window.
#pragma once

#include "common/domain/plan.hpp"
#include "common/limiter/algorithms/algorithm.hpp"

namespace sluice::limiter {

// The parameters are explained at KindTraits::judge and KindTraits::charge (traits.hpp).
Judged judge_sliding_window(const Terms& terms, double* values, double now, double last);
Charged charge_sliding_window(const Terms& terms, double* values, double now, double charge, bool allowed);

// The tick in µs: 1, 1,000 or 1,000,000. It is the smallest with which limit · (window in ticks) is at most 2^53.
double sliding_tick_us(double limit, double window_us, std::uint32_t counter_id);

}  // namespace sluice::limiter
