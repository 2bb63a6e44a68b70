// The outcome of a check in the server's analytics.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "common/domain/decision.hpp"

namespace sluice::usage {

enum class UsageOutcome : std::uint8_t {
  allowed,           // within all limits
  delayed,           // allowed after a wait
  sampled,           // over a limit, let through by action sample
  downgraded,        // over a limit, let through by action downgrade
  passed,            // over a limit, let through by action allow, shadow_only or drop_low_priority
  denied,            // over a limit
  dropped,           // over a limit, action drop
  no_policy,         // no policy matches, and the tenant's default is allow
  no_policy_denied,  // no policy matches, and the tenant's default is deny
  mode_off,
  shadow,
  failed_open,       // the counter store did not answer
  failed_closed,     // the counter store did not answer
  degraded_allowed,  // the counter store did not answer, and failure mode fail_degrade decided
  degraded_denied,
  shadow_allowed,  // what a shadow policy would have done; counted in addition to the decision
  shadow_denied,
};
inline constexpr std::size_t kUsageOutcomes = 17;
std::string_view to_string(UsageOutcome);

// REQUIRES: the reason is neither no_snapshot nor overload.
UsageOutcome outcome_of(const Decision& decision);

// Whether limits denied the check.
inline bool is_throttled(const Decision& decision) {
  return !decision.allowed && (decision.reason == Reason::limit_exceeded || decision.reason == Reason::degraded);
}

}  // namespace sluice::usage
