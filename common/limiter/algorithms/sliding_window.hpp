// Sliding window counter. In Redis: lua/check/sliding_window.lua. The previous window's count is weighted by the share
// of that window which is still inside the sliding window.
//
// p: the window, q: the tick, both in µs. The time left in the window is rounded up to whole ticks. Two values: the
// counts of the previous and of the current window.
#pragma once

#include "common/domain/plan.hpp"
#include "common/limiter/algorithms/algorithm.hpp"

namespace sluice::limiter {

Judged judge_sliding_window(const Terms& terms, double* values, double now, double last);
Charged charge_sliding_window(const Terms& terms, double* values, double now, double charge, bool allowed);

// The tick in µs: 1, or 1,000 or 1,000,000 if limit · window would exceed 2^53.
double sliding_tick_us(double limit, double window_us, std::uint32_t counter_id);

}  // namespace sluice::limiter
