// Compiles policies and plans into the form that decisions read (compiled_policy.hpp).
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

// Whether the limits fit the enforcement. Faults: a limit's key_by repeats a dimension of the enforcement's key_by;
// `max_delay` lets a bucket go into more debt than its numbers can represent (debt_fault()).
Faults fit_faults(const Enforcement& enforcement, const std::vector<Limit>& limits);

// Adds a fault if the match expression is invalid. `now_us`: the wall clock, for CompiledPolicy::dormant.
std::shared_ptr<CompiledPolicy> compile_policy(const Policy& policy, TrailingSlash trailing_slash,
                                               ProgramPool::Shared program, std::int64_t now_us, Faults& faults);

// For a tenant whose trailing_slash has changed. REQUIRES: policy.slashed_scope.
void compile_scope_again(TrailingSlash trailing_slash, CompiledPolicy& policy);

// When an enabled policy becomes dormant (searched for explanations only): one day after the policy expires, because
// the clock may be set back. INT64_MAX: the policy never expires.
std::int64_t dormant_from_us(const CompiledPolicy& policy);

// The rulebook for checks that name the plan.
Rulebook rulebook_of(const Plan& plan, ProgramPool::Shared program);

}  // namespace sluice::policy
