#include "common/domain/decision.hpp"

#include <array>
#include <cstddef>

namespace sluice {
namespace {

constexpr std::array<std::string_view, 9> kOutcomeNames{"decides",   "shadow_judged",    "shadow_not_judged",
                                                        "outranked", "disabled",         "not_yet_valid",
                                                        "expired",   "expression_false", "outside_rollout"};
static_assert(static_cast<std::size_t>(CandidateOutcome::outside_rollout) + 1 == kOutcomeNames.size());

}  // namespace

std::string_view to_string(Reason reason) { return kReasonNames[static_cast<std::size_t>(reason)]; }

std::string_view to_string(CandidateOutcome outcome) { return kOutcomeNames[static_cast<std::size_t>(outcome)]; }

unsigned status_of(const Decision& decision) {
  if (decision.allowed) return 200;
  switch (decision.reason) {
    case Reason::fail_closed:
    case Reason::no_snapshot:
    case Reason::overload:
      return 503;  // the agent judged no limit, so the failure is Sluice's, not the caller's
    default:
      return 429;
  }
}

std::string_view text_of(const Decision& decision) {
  if (decision.allowed) return "OK";
  switch (decision.reason) {
    case Reason::fail_closed:
      return "Rate limiter unavailable";
    case Reason::no_snapshot:
      return "Rate limiter has no policies";
    case Reason::overload:
      return "Rate limiter overloaded";
    default:
      return "Rate limit exceeded";
  }
}

}  // namespace sluice
