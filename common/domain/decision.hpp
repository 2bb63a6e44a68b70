// The answer to one check, and its wire forms.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/domain/plan.hpp"

namespace sluice {

enum class Reason : std::uint8_t {
  within_limit,
  limit_exceeded,
  no_policy,
  mode_off,
  shadow,
  sampled,
  fail_open,
  fail_closed,
  degraded,
  no_snapshot,
  overload
};
inline constexpr std::size_t kReasons = 11;
std::string_view to_string(Reason);

inline constexpr std::int64_t kNever = -1;

// What one limit says, with overridden numbers where an override is in force.
struct LimitReport {
  bool admitted = true;
  std::int64_t limit = 0;
  std::int64_t remaining = 0;
  std::int64_t reset_after_us = 0;
  std::int64_t retry_after_us = 0;  // kNever: cost above the limit
  std::int64_t delay_us = 0;
};

// One limit in an explained decision.
struct ExplainedLimit {
  std::string_view name;
  Algorithm algorithm = Algorithm::token_bucket;
  std::string_view unit;
  std::int64_t cost = 0;
  LimitReport report;
};

// What became of a policy whose scope holds for the request; why, is said in words beside it.
enum class CandidateOutcome : std::uint8_t {
  decides,
  judged_beside,  // a shadow above the deciding policy
  set_aside,      // a shadow that is not judged
  outranked,
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
  std::size_t omitted = 0;                // of the rest
};

// What a matching shadow policy would have said.
struct ShadowResult {
  bool allowed = true;
  Reason reason = Reason::within_limit;
  std::string_view policy_id;
  std::int64_t policy_version = 0;
  std::string_view plan_id;
  std::string_view limit_name;
  LimitReport report;
};

// Views point into the snapshot and the request, which outlive the writing of the reply.
struct Decision {
  bool allowed = true;
  Action action = Action::allow;
  Reason reason = Reason::no_policy;
  std::int64_t now_us = 0;  // Redis' (or the store's) clock; 0: nothing was judged
  bool has_limit = false;   // the fields from here to window_us are set
  LimitReport report;       // of the binding limit, but retry_after_us and delay_us of the whole decision
  std::string_view limit_name;
  std::int64_t window_us = 0;  // of the binding limit, for the IETF policy's w; 0: none
  std::string_view policy_id;  // "" when none judged
  std::int64_t policy_version = 0;
  std::string_view plan_id;
  bool shadow = false;
  double sample_rate = 0;              // action sample
  std::string_view downgrade_to;       // action downgrade
  const Metadata* metadata = nullptr;  // of the policy
  std::string_view lease_id;           // "" : no lease
  std::int64_t lease_expires_at_us = 0;
  std::string_view request_id;
  std::optional<ShadowResult> shadow_result;
  bool explain = false;
  std::vector<ExplainedLimit> limits;  // explain only
  CandidateList candidates;            // explain only; empty for a call by plan
};

// Which header families go out with a decision that has a limit.
struct HeaderFamilies {
  bool x = true;        // X-RateLimit-Limit, -Remaining, -Reset
  bool ietf = true;     // RateLimit-Policy, RateLimit (structured fields)
  bool draft6 = false;  // RateLimit-Limit, -Remaining, -Reset in delta seconds
};

// The HTTP status of a decision: 200, 429, or 503 for fail_closed, overload and no_snapshot denials.
unsigned status_of(const Decision& decision);

// Appends the JSON body, the fields in the order of the API document, those without meaning left out (no limit, no
// policy, no lease …). `reset_at` is in Unix seconds rounded up, `lease_expires_at` in Unix seconds rounded down (a
// lease is never promised for longer than it lives); milliseconds round up; `retry_after_ms` is 0 when allowed and null
// for kNever. No allocation beyond `out`'s growth.
void write_decision(const Decision& decision, std::string& out);

// Appends the candidates as they stand in an explained decision: `"candidates":[…]`, and how many were omitted.
void write_candidates(const CandidateList& candidates, std::string& out);

// Appends whole header lines ("Name: value\r\n"): the chosen families where the decision has a limit, and Retry-After
// (whole seconds rounded up, at least 1) on a denial by a limit or a 503, unless it never can pass.
void write_decision_headers(const Decision& decision, HeaderFamilies families, std::string& out);

}  // namespace sluice
