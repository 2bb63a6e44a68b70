// What of a request decides which policies of a tenant match it, so that a match can be remembered (match_memory.hpp).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "common/policy/compiled_policy.hpp"

namespace sluice::policy {

// Counts the policies, so that a change costs no more than the policy that it adds or removes.
class MatchInputs {
 public:
  void add(const CompiledPolicy& policy) { count(policy, 1); }
  // REQUIRES: the policy, or one equal to it, was added before.
  void remove(const CompiledPolicy& policy) { count(policy, -1); }

  // Whether equal values of dimensions() always match the same policies. If not, a match also depends on the time, an
  // expression, a subject's share of a rollout, or tags and attributes.
  bool are_dimensions() const { return others_ == 0; }
  // The dimensions of all scopes: bit i is for Dimension i.
  std::uint32_t dimensions() const { return dimensions_; }

  bool operator==(const MatchInputs&) const = default;

 private:
  static_assert(kNamedDimensions <= 32);

  // Numbers are of policies, so they fit. `difference` is 1 or -1; unsigned numbers wrap around as they must.
  void count(const CompiledPolicy& policy, int difference) {
    const auto more = static_cast<std::uint32_t>(difference);
    bool other = policy.expression != nullptr || policy.rollout != kWholeRollout || policy.valid_from_us != INT64_MIN ||
                 policy.valid_to_us != INT64_MAX;
    for (const Term& term : policy.scope) {
      const auto index = static_cast<std::size_t>(term.dimension.dimension);
      if (index >= kNamedDimensions) {
        other = true;
        continue;
      }
      users_[index] += more;
      const std::uint32_t bit = std::uint32_t{1} << index;
      dimensions_ = users_[index] != 0 ? dimensions_ | bit : dimensions_ & ~bit;
    }
    if (other) others_ += more;
  }

  std::array<std::uint32_t, kNamedDimensions> users_{};  // by dimension: terms of scopes that name it
  std::uint32_t dimensions_ = 0;
  std::uint32_t others_ = 0;  // policies that look at something else
};

}  // namespace sluice::policy
