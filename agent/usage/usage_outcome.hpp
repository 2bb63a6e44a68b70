// The outcome of a check in the server's analytics: a closed list, coarser than action and reason together.
//
// Every decision has exactly one outcome, except decisions with the reason no_snapshot or overload, which are not
// counted. shadow_allowed and shadow_denied are counted in addition: they say what a shadow policy would have done.
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
  sampled,           // over a limit, let through by action sample
  downgraded,        // over a limit, let through by action downgrade
  passed,            // over a limit, let through by action allow, shadow_only or drop_low_priority
  denied,            // over a limit: 429
  dropped,           // over a limit, action drop: 429
  no_policy,         // no policy matches, and the tenant's default is allow
  no_policy_denied,  // no policy matches, and the tenant's default is deny
  mode_off,          // the deciding policy or plan, the tenant or the platform has mode off
  shadow,            // allowed: only shadow policies match, or a named plan, the tenant or the platform has mode shadow
  failed_open,       // the counter store did not answer: 200
  failed_closed,     // the counter store did not answer: 503
  degraded_allowed,  // the counter store did not answer; failure mode fail_degrade decided (reason degraded)
  degraded_denied,
  shadow_allowed,  // in addition to the decision: what a shadow policy would have done
  shadow_denied,
};
inline constexpr std::size_t kUsageOutcomes = 17;
std::string_view to_string(UsageOutcome);

// REQUIRES: a decision that counts. Its reason is neither no_snapshot nor overload.
UsageOutcome outcome_of(const Decision& decision);

// Whether limits denied the check, so that its subject counts as throttled.
inline bool is_throttled(const Decision& decision) {
  return !decision.allowed && (decision.reason == Reason::limit_exceeded || decision.reason == Reason::degraded);
}

}  // namespace sluice::agent::usage
