// Sliding window counter. In Redis: lua/check/sliding_window.lua. Windows are aligned to the Unix epoch. A counter has
// two values: the counts of the previous and of the current window. The previous count is weighted by the share of its
// window that is still inside the sliding window.
//
// Terms::p is the window and Terms::q the tick (sliding_tick_us()), both in µs. The time left in the current window is
// rounded up to whole ticks.
#pragma once

#include "common/domain/plan.hpp"
#include "common/limiter/algorithms/algorithm.hpp"

namespace sluice::limiter {

// Parameters: see KindTraits::judge and KindTraits::charge (traits.hpp).
Judged judge_sliding_window(const Terms& terms, double* values, double now, double last);
Charged charge_sliding_window(const Terms& terms, double* values, double now, double charge, bool allowed);

// 1, 1,000 or 1,000,000: the smallest tick with which limit · (window in ticks) is at most 2^53.
double sliding_tick_us(double limit, double window_us, std::uint32_t counter_id);

}  // namespace sluice::limiter
