// Compiles policies and plans into the form that decisions read. Finds the faults that reading one object cannot find.
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

// JSON pointers of all faults in this header begin at the policy or plan.

// Faults of limits under an enforcement: a limit's key_by repeats a dimension of the enforcement, or `max_delay` is
// longer than the debt that a bucket can hold.
Faults fit_faults(const Enforcement& enforcement, const std::vector<Limit>& limits);

// Adds faults of the match expression to `faults`. Marks the policy as dormant if it is disabled, or was due for it
// (dormant_from_us) before `now_us` (wall clock).
std::shared_ptr<CompiledPolicy> compile_policy(const Policy& policy, ProgramPool::Shared program, std::int64_t now_us,
                                               Faults& faults);

// When an active policy becomes dormant: one day after it expires, in case the clock is set back. INT64_MAX: never.
std::int64_t dormant_from_us(const CompiledPolicy& policy);

// The rulebook for checks that name the plan.
Rulebook rulebook_of(const Plan& plan, ProgramPool::Shared program);

}  // namespace sluice::policy
