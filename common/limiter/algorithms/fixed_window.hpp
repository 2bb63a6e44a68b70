// Fixed window; lua/check/fixed_window.lua. p: the window in µs.
#pragma once

#include "common/domain/plan.hpp"
#include "common/limiter/algorithms/algorithm.hpp"

namespace sluice::limiter {

// Aligned to the epoch. One value: the count.
Judged judge_fixed_window(const Terms& terms, double* values, double now, double last);
Charged charge_fixed_window(const Terms& terms, double* values, double now, double charge, bool allowed);

// Opens at the first hit. Two values: the window's start and its count.
Judged judge_first_window(const Terms& terms, double* values, double now, double last);
Charged charge_first_window(const Terms& terms, double* values, double now, double charge, bool allowed);

// Of every algorithm with a window.
inline double window_p(const Limit& limit) { return static_cast<double>(limit.window.count()); }
inline std::string window_text(const Limit& limit) { return std::to_string(limit.window.count()); }

}  // namespace sluice::limiter
