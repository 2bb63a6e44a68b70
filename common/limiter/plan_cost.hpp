// What a plan costs Redis: the CPU time of a check, and the memory of a subject. The server refuses plans that cost too
// much, because one check holds up all others at the same Redis.
//
// The costs come from a fixed table of the algorithms, so a plan costs the same on every machine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/domain/plan.hpp"

namespace sluice::limiter {

struct PlanCost {
  std::int64_t check_us = 0;       // of Redis' CPU for one check
  std::int64_t subject_bytes = 0;  // of Redis' memory for one subject, when its logs and leases are full

  bool within(const PlanCost& budget) const {
    return check_us <= budget.check_us && subject_bytes <= budget.subject_bytes;
  }
  bool operator==(const PlanCost&) const = default;
};

// For tenants whose quotas say nothing else.
inline constexpr PlanCost kDefaultPlanBudget{.check_us = 100, .subject_bytes = 256 * 1024};

// What every check costs, whatever its limits.
inline constexpr PlanCost kCallCost{.check_us = 9, .subject_bytes = 128};

// Of one limit, beyond kCallCost.
PlanCost cost_of(const Limit& limit);
PlanCost cost_of(const std::vector<Limit>& limits);

// The sum with each of its terms, and how to cost less. REQUIRES: the limits cost more than `budget`.
std::string explain_cost(const std::vector<Limit>& limits, const PlanCost& budget);

}  // namespace sluice::limiter
