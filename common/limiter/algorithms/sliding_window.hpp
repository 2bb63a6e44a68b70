// Sliding window counter; lua/check/sliding_window.lua. The previous window's count weighs as much as of that window is
// still inside the sliding one.
//
// p: the window, q: the tick it counts in, both in µs; the time left in the window is rounded up to a tick. Two values:
// the counts of the previous and of the current window.
#pragma once

#include "common/domain/plan.hpp"
#include "common/limiter/algorithms/algorithm.hpp"

namespace sluice::limiter {

Judged judge_sliding_window(const Terms& terms, double* values, double now, double last);
Charged charge_sliding_window(const Terms& terms, double* values, double now, double charge, bool allowed);

// The tick, in µs: 1, or 1,000 or 1,000,000 where limit · window would pass 2^53.
double sliding_tick_us(double limit, double window_us, std::uint32_t counter_id);

}  // namespace sluice::limiter
