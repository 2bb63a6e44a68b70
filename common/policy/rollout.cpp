#include "common/policy/rollout.hpp"

#include "common/base/crypto.hpp"
#include "common/policy/counter_key.hpp"

namespace sluice::policy {

std::uint32_t rollout_number(std::string_view policy_id, std::string_view subject) {
  constexpr std::string_view kSeparator("\0", 1);
  thread_local Sha256 hash;
  const Sha256Digest digest = hash.update(policy_id).update(kSeparator).update(subject).finish();
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < sizeof number; ++i) number = number << 8 | digest[i];
  return static_cast<std::uint32_t>(number % kWholeRollout);
}

std::uint32_t rollout_number(const CompiledPolicy& policy, const CheckRequest& request) {
  static const DimensionRef kSubject{Dimension::subject, ""};
  if (const Value* subject = request.find(kSubject)) return rollout_number(policy.id(), subject->text);
  thread_local std::string identity;  // keeps its memory between requests
  identity.clear();
  append_identity(policy.rulebook.enforcement, request, identity);
  return rollout_number(policy.id(), identity);
}

bool in_rollout(const CompiledPolicy& policy, const CheckRequest& request) {
  if (policy.rollout == kWholeRollout) return true;
  return policy.rollout > 0 && rollout_number(policy, request) < policy.rollout;
}

}  // namespace sluice::policy
