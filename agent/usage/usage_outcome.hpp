// What became of a check, as analytics tell it: one closed vocabulary, coarser than action and reason together.
//
// Every decision has exactly one outcome. shadow_allowed and shadow_denied are no outcomes of a decision: they say
// beside it what a policy in shadow mode would have done, and are counted for that policy.
//
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "common/domain/decision.hpp"

namespace sluice::agent::usage {

enum class UsageOutcome : std::uint8_t {
  allowed,           // within all limits
  delayed,           // allowed after a wait: action delay
  sampled,           // over a limit, and among those that action sample lets through
  downgraded,        // over a limit, let through as less: action downgrade
  passed,            // over a limit, let through by action allow, shadow_only or drop_low_priority
  denied,            // over a limit: 429
  dropped,           // over a limit, action drop: 429
  no_policy,         // nothing matches, and the tenant's default is allow
  no_policy_denied,  // nothing matches, and the tenant's default is deny
  mode_off,          // the best match, its tenant or all is switched off
  shadow,            // only shadows match, or the tenant or all is in shadow mode: allowed
  failed_open,       // the counter store did not answer
  failed_closed,     // the same: 503
  degraded_allowed,  // judged by this agent's share of the limit
  degraded_denied,
  shadow_allowed,  // beside the decision: what a shadow policy would have done
  shadow_denied,
};
inline constexpr std::size_t kUsageOutcomes = 17;
std::string_view to_string(UsageOutcome);

// REQUIRES: the decision is a tenant's: its reason is neither no_snapshot nor overload.
UsageOutcome outcome_of(const Decision& decision);

// Did limits refuse it? Whose subject is then among the throttled ones.
inline bool is_throttled(const Decision& decision) {
  return !decision.allowed && (decision.reason == Reason::limit_exceeded || decision.reason == Reason::degraded);
}

}  // namespace sluice::agent::usage
