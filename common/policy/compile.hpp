// Compiles policies and plans into the form that decisions read (compiled_policy.hpp). Finds faults that the reader of
// a single object cannot find: a policy that does not fit the limits of its plan.
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

// The JSON pointers of the faults are relative to the policy or plan.

// Returns faults if the limits do not fit the enforcement: a limit's key_by repeats a dimension of the enforcement's
// key_by, or the action is `delay` and its `max_delay` lets a bucket go into more debt than its numbers can represent
// (debt_fault()).
Faults fit_faults(const Enforcement& enforcement, const std::vector<Limit>& limits);

// Compiles a policy. If its match expression is invalid, adds a fault to `faults`. Marks the policy as dormant (see
// CompiledPolicy) if it is disabled, or if dormant_from_us() is not after `now_us` (wall clock).
std::shared_ptr<CompiledPolicy> compile_policy(const Policy& policy, ProgramPool::Shared program, std::int64_t now_us,
                                               Faults& faults);

// When an enabled policy becomes dormant: one day after it expires, because the clock may be set back. INT64_MAX:
// never.
std::int64_t dormant_from_us(const CompiledPolicy& policy);

// The rulebook for checks that name the plan.
Rulebook rulebook_of(const Plan& plan, ProgramPool::Shared program);

}  // namespace sluice::policy
