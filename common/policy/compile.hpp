// From a policy or plan as it is written to what decisions read, and what is wrong with it beyond its form.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "common/base/error.hpp"
#include "common/domain/policy.hpp"
#include "common/policy/compiled_policy.hpp"
#include "common/policy/program_pool.hpp"

namespace sluice::policy {

// What this version cannot enforce. Refused rather than ignored: a policy must not be silently weaker than it reads.
// Pointers, here and below, begin at the object.
Faults enforcement_faults(const Enforcement& enforcement);

// Why limits cannot be judged under an enforcement: they count by what it counts by already, or its delay is longer
// than their buckets can owe.
Faults fit_faults(const Enforcement& enforcement, const std::vector<Limit>& limits);

// `now_us`: what expired long before it is dormant. Faults of its expression are added to `faults`.
std::shared_ptr<CompiledPolicy> compile_policy(const Policy& policy, ProgramPool::Shared program, std::int64_t now_us,
                                               Faults& faults);

// When an active policy becomes a dormant one; INT64_MAX: never. That is a day after it expires: clocks are set back.
std::int64_t falls_asleep_us(const CompiledPolicy& policy);

Rulebook rulebook_of(const Plan& plan, ProgramPool::Shared program);

}  // namespace sluice::policy
