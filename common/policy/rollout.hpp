// Rollout: the share of subjects that a policy applies to. All agents and all versions of the policy choose the same
// subjects. Raising the percentage only adds subjects.
#pragma once

#include "common/policy/compiled_policy.hpp"

namespace sluice::policy {

// The subject's number, 0 to 9,999: the first 8 bytes of SHA-256(policy id ‖ 0x00 ‖ subject) as a big-endian number,
// mod 10,000. For example, policy `orders` and subject `user:42` give 8,171.
std::uint32_t rollout_number(std::string_view policy_id, std::string_view subject);

// If the request has no subject, its identity is hashed instead, as append_identity() writes it.
std::uint32_t rollout_number(const CompiledPolicy& policy, const CheckRequest& request);

bool in_rollout(const CompiledPolicy& policy, const CheckRequest& request);

}  // namespace sluice::policy
