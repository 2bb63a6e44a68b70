// Fixed window. In Redis: lua/check/fixed_window.lua. Terms::p is the window in µs.
// Parameters: see KindTraits::judge and KindTraits::charge (traits.hpp).
#pragma once

#include "common/domain/plan.hpp"
#include "common/limiter/algorithms/algorithm.hpp"

namespace sluice::limiter {

// Windows aligned to the Unix epoch. The state has one value: the count.
Judged judge_fixed_window(const Terms& terms, double* values, double now, double last);
Charged charge_fixed_window(const Terms& terms, double* values, double now, double charge, bool allowed);

// Windows that start with their first charge. The state has two values: the window's start (µs) and its count.
Judged judge_first_window(const Terms& terms, double* values, double now, double last);
Charged charge_first_window(const Terms& terms, double* values, double now, double charge, bool allowed);

// All algorithms with a window use these as AlgorithmTraits::p and AlgorithmTraits::counter_text (traits.hpp).
inline double window_p(const Limit& limit) { return static_cast<double>(limit.window.count()); }
inline std::string window_text(const Limit& limit) { return std::to_string(limit.window.count()); }

}  // namespace sluice::limiter
