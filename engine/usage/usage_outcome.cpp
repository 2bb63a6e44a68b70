#include "engine/usage/usage_outcome.hpp"

#include <array>

namespace sluice::usage {
namespace {

constexpr std::array<std::string_view, kUsageOutcomes> kNames{
    "allowed",       "delayed",          "sampled",          "downgraded",     "passed",       "denied",
    "dropped",       "no_policy",        "no_policy_denied", "mode_off",       "shadow",       "failed_open",
    "failed_closed", "degraded_allowed", "degraded_denied",  "shadow_allowed", "shadow_denied"};
static_assert(static_cast<std::size_t>(UsageOutcome::shadow_denied) + 1 == kUsageOutcomes);

UsageOutcome over_limit(const Decision& decision) {
  if (!decision.allowed) return decision.action == Action::drop ? UsageOutcome::dropped : UsageOutcome::denied;
  return decision.action == Action::downgrade ? UsageOutcome::downgraded : UsageOutcome::passed;
}

}  // namespace

std::string_view to_string(UsageOutcome outcome) { return kNames[static_cast<std::size_t>(outcome)]; }

UsageOutcome outcome_of(const Decision& decision) {
  switch (decision.reason) {
    case Reason::within_limit:
      return decision.action == Action::delay || decision.waited_us >= 0 ? UsageOutcome::delayed
                                                                         : UsageOutcome::allowed;
    case Reason::limit_exceeded:
      return over_limit(decision);
    case Reason::sampled:
      return UsageOutcome::sampled;
    case Reason::no_policy:
      return decision.allowed ? UsageOutcome::no_policy : UsageOutcome::no_policy_denied;
    case Reason::mode_off:
      return UsageOutcome::mode_off;
    case Reason::shadow:
      return UsageOutcome::shadow;
    case Reason::degraded:
      return decision.allowed ? UsageOutcome::degraded_allowed : UsageOutcome::degraded_denied;
    case Reason::fail_open:
    case Reason::fail_closed:
    case Reason::no_snapshot:
    case Reason::overload:
      return decision.allowed ? UsageOutcome::failed_open : UsageOutcome::failed_closed;
    default:  // a reason of a later version
      return decision.allowed ? UsageOutcome::allowed : UsageOutcome::denied;
  }
}

}  // namespace sluice::usage
