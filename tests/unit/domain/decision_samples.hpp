// Typical decisions, for the tests of their wire forms.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/domain/decision.hpp"

namespace sluice::decision_tests {

inline constexpr std::int64_t kSecond = 1'000'000;
inline constexpr std::int64_t kNow = 1'718'654'381'500'000;  // half a second past 1718654381

inline Decision allowed() {
  Decision d;
  d.reason = Reason::within_limit;
  d.now_us = kNow;
  d.has_limit = true;
  d.report = {.admitted = true, .limit = 100, .remaining = 42, .reset_after_us = 18 * kSecond};
  d.limit_name = "per_minute";
  d.window_us = 60 * kSecond;
  d.policy_id = "orders";
  d.policy_version = 7;
  d.plan_id = "pro";
  return d;
}

inline Decision denied(std::int64_t retry_after_us) {
  Decision d = allowed();
  d.allowed = false;
  d.action = Action::deny;
  d.reason = Reason::limit_exceeded;
  d.report = {.admitted = false,
              .limit = 100,
              .remaining = 0,
              .reset_after_us = 18 * kSecond,
              .retry_after_us = retry_after_us};
  return d;
}

// A decision no limit is behind.
inline Decision plain(bool allow, Reason reason) {
  Decision d;
  d.allowed = allow;
  d.action = allow ? Action::allow : Action::deny;
  d.reason = reason;
  return d;
}

inline bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace sluice::decision_tests
