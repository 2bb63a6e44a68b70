// The answer to one check, and how it is written as JSON and as HTTP headers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/domain/plan.hpp"

namespace sluice {

enum class Reason : std::uint8_t {
  within_limit,
  limit_exceeded,  // the action decides whether the request is allowed anyway
  no_policy,       // no policy matches, so the tenant's default decided
  mode_off,
  shadow,       // the policy or plan is in shadow mode, so nothing is enforced
  sampled,      // over a limit, but allowed by action `sample`
  fail_open,    // the counter store did not answer
  fail_closed,  // the counter store did not answer
  degraded,     // the counter store did not answer, and the failure mode is fail_degrade
  no_snapshot,  // the agent has no policies yet
  overload      // too many checks are in flight, in the whole agent or of one tenant
};
inline constexpr auto kReasonNames =
    std::to_array<std::string_view>({"within_limit", "limit_exceeded", "no_policy", "mode_off", "shadow", "sampled",
                                     "fail_open", "fail_closed", "degraded", "no_snapshot", "overload"});
inline constexpr std::size_t kReasons = kReasonNames.size();
static_assert(static_cast<std::size_t>(Reason::overload) + 1 == kReasons);
std::string_view to_string(Reason);

// The `retry_after_us` of a check that will not pass however long the caller waits.
inline constexpr std::int64_t kNever = -1;

// The verdict on one limit, by its own numbers or by those of an override.
struct LimitReport {
  bool admitted = true;
  std::int64_t limit = 0;
  std::int64_t remaining = 0;
  std::int64_t reset_after_us = 0;  // until the whole limit is available again
  std::int64_t retry_after_us = 0;  // until the same cost passes; kNever where the cost is above the limit
  std::int64_t delay_us = 0;        // how long the caller should hold the request back (action delay)
};

struct ExplainedLimit {
  std::string_view name;
  Algorithm algorithm = Algorithm::token_bucket;
  std::string_view unit;
  std::int64_t cost = 0;
  LimitReport report;
  bool brought = false;  // the check brought the limit (CheckRequest::limit_override)
};

// The role of one candidate in policy selection.
enum class CandidateOutcome : std::uint8_t {
  decides,            // the deciding policy; or, if only policies in shadow mode apply, the first of them
  shadow_judged,      // the shadow policy
  shadow_not_judged,  // in shadow mode, but another policy ranks above it, or the deciding policy is off
  outranked,          // applies, but ranks below the deciding policy
  disabled,
  not_yet_valid,
  expired,
  expression_false,
  outside_rollout,
};
std::string_view to_string(CandidateOutcome);

struct ExplainedCandidate {
  std::string_view policy_id;
  std::int64_t policy_version = 0;
  std::string_view plan_id;
  CandidateOutcome outcome = CandidateOutcome::outranked;
  std::string why;
};
struct CandidateList {
  std::vector<ExplainedCandidate> shown;  // in order of precedence
  std::size_t omitted = 0;
};

// What the shadow policy would have decided.
struct ShadowResult {
  bool allowed = true;
  Reason reason = Reason::within_limit;
  std::string_view policy_id;
  std::int64_t policy_version = 0;
  std::string_view plan_id;
  std::string_view limit_name;
  LimitReport report;
};

struct UnitCost;       // check_request.hpp
struct UncountedUnit;  // uncounted_units.hpp

// The views point into the snapshot and the request. Both live until the reply is written.
struct Decision {
  bool allowed = true;
  Action action = Action::allow;
  Reason reason = Reason::no_policy;
  std::int64_t now_us = 0;  // the counter store's clock, µs since 1970; 0: no limit was judged
  bool has_limit = false;   // whether report, limit_name and window_us are set
  LimitReport report;       // of the binding limit, but retry_after_us and delay_us are those of the whole decision
  std::string_view limit_name;
  std::int64_t spent = 0;                      // what the check took of this limit; 0 if it was over it
  std::span<const DimensionRef> key_by;        // what the limit's counter is named by,
  std::span<const DimensionRef> limit_key_by;  // and what the limit adds to that
  std::int64_t window_us = 0;                  // for the parameter w of the RateLimit-Policy header; 0: none
  std::string_view policy_id;                  // "": no policy decided
  std::int64_t policy_version = 0;
  std::string_view plan_id;
  Expose expose = Expose::all;
  bool shadow = false;      // true: nothing is enforced
  bool would_allow = true;  // with `shadow`: what the decision would have been if enforced
  bool over_limit = false;  // with `shadow`: whether a limit was exceeded; the action may have let it pass
  double sample_rate = 0;
  std::int64_t waited_us = -1;  // how long the agent has held the check; -1: not at all
  std::string_view downgrade_to;
  const Metadata* metadata = nullptr;  // of the policy
  std::string_view lease_id;           // "": no lease
  std::int64_t lease_expires_at_us = 0;
  std::string_view request_id;
  // Of the reason no_snapshot: why there are no policies; may be "". With `explain`: why the counter store failed.
  std::string_view cause;
  std::optional<ShadowResult> shadow_result;
  bool explain = false;
  std::vector<ExplainedLimit> limits;            // explain only
  const std::vector<UnitCost>* costs = nullptr;  // of the check; set with `limits`
  CandidateList candidates;                      // explain only; empty where the check named a plan
};

struct HeaderFamilies {
  bool x = true;             // X-RateLimit-Limit, -Remaining, -Reset
  bool ietf = true;          // RateLimit-Policy, RateLimit (structured fields)
  bool ietf_next = false;    // as `ietf`, with the names of the draft's next revision
  bool draft6 = false;       // RateLimit-Limit, -Remaining, -Reset in delta seconds
  bool retry_after = false;  // Retry-After on 200 as well, where a limit was judged
};

// The HTTP status: 200, 429 or 503.
unsigned status_of(const Decision& decision);

// The units of the check's costs that none of the explained limits counts.
std::vector<UncountedUnit> uncounted_units(const Decision& decision);

// Appends the JSON body. Fields that do not apply are left out. Times are rounded up, but `lease_expires_at` is rounded
// down, because a lease lives at least as long as stated. `retry_after_ms` is null for kNever.
void write_decision(const Decision& decision, std::string& out);

// Appends `"candidates":[…]` and, if some were omitted, their number.
void write_candidates(const CandidateList& candidates, std::string& out);

// The body for callers that want plain text.
std::string_view text_of(const Decision& decision);

// Appends header lines ("Name: value\r\n"). A denial by a limit and every 503 carry Retry-After in seconds, at least 1,
// unless retry_after_us is kNever; the body has the same wait.
void write_decision_headers(const Decision& decision, HeaderFamilies families, std::string& out);

}  // namespace sluice
