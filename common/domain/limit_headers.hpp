// The rate limit headers of replies: which of them a decision has, and their values. They are written in two forms: as
// lines of HTTP (decision_headers.cpp), and as messages of Envoy's external authorization
// (agent/grpc/allowed_headers.cpp).
//
// `Out` knows the form. It has these functions:
//   template <LimitHeader kHeader> void begin();  // a header begins; what add() adds is its value
//   void add(std::string_view text);
//   void add(char c);
//   void add(std::int64_t number);
//   void end();
//
// RateLimit-Limit, -Remaining and -Reset follow revision 06 of draft-ietf-httpapi-ratelimit-headers; for later
// revisions see ietf_headers.hpp.
// Thread safety: pure functions.
#pragma once

#include <algorithm>
#include <cstdint>

#include "common/domain/decision.hpp"
#include "common/domain/decision_time.hpp"
#include "common/domain/ietf_headers.hpp"
#include "common/domain/limit_header_names.hpp"

namespace sluice::limit_headers {

template <LimitHeader kHeader, class Out>
void add_number(Out& out, std::int64_t value) {
  out.template begin<kHeader>();
  out.add(value);
  out.end();
}

template <class Out>
void add_x(const Decision& decision, bool only_remaining, Out& out) {
  if (!only_remaining) add_number<LimitHeader::x_limit>(out, decision.report.limit);
  add_number<LimitHeader::x_remaining>(out, decision.report.remaining);
  if (only_remaining) return;
  add_number<LimitHeader::x_reset>(out, unix_seconds_up(decision.now_us, decision.report.reset_after_us));
}

template <class Out>
void add_draft6(const Decision& decision, bool only_remaining, Out& out) {
  const auto number = [](std::int64_t value) { return within_structured(value); };
  if (!only_remaining) add_number<LimitHeader::draft6_limit>(out, number(decision.report.limit));
  add_number<LimitHeader::draft6_remaining>(out, number(decision.report.remaining));
  if (only_remaining) return;
  add_number<LimitHeader::draft6_reset>(out, number(round_up(decision.report.reset_after_us, kMicrosPerSecond)));
}

template <class Out>
void add_retry_after(std::int64_t wait, std::int64_t least_seconds, Out& out) {
  if (wait == kNever) return;
  add_number<LimitHeader::retry_after>(out, std::max(round_up(wait, kMicrosPerSecond), least_seconds));
}

template <class Out>
void add_retry_after_denial(const Decision& decision, Out& out) {
  if (!decision.has_limit && status_of(decision) != 503) return;
  add_retry_after(wait_us(decision), 1, out);
}

// A call that was let through over a limit, or in shadow mode, is told when it would be within the limit.
template <class Out>
void add_retry_after_admission(const Decision& decision, Out& out) {
  const LimitReport& report = decision.report;
  add_retry_after(report.retry_after_us == kNever ? kNever : std::max(report.retry_after_us, report.delay_us), 0, out);
}

template <class Out>
void add_all(const Decision& decision, HeaderFamilies families, Out& out) {
  if (decision.has_limit && decision.expose != Expose::none) {
    const bool only_remaining = decision.expose == Expose::remaining;
    if (families.x) add_x(decision, only_remaining, out);
    if (families.ietf || families.ietf_next) {
      const StructuredString name(decision.limit_name);
      if (families.ietf) add_ietf_headers(decision, name, only_remaining, out);
      if (families.ietf_next) add_next_ietf_headers(decision, name, only_remaining, out);
    }
    if (families.draft6) add_draft6(decision, only_remaining, out);
  }
  if (!decision.allowed) {
    add_retry_after_denial(decision, out);
  } else if (families.retry_after && decision.has_limit && decision.expose == Expose::all) {
    add_retry_after_admission(decision, out);
  }
}

}  // namespace sluice::limit_headers
