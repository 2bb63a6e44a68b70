// The rate limit headers of replies. RateLimit-Limit, -Remaining and -Reset follow revision 06 of
// draft-ietf-httpapi-ratelimit-headers; for later revisions see ietf_headers.hpp.
#include <algorithm>

#include "common/domain/decision.hpp"
#include "common/domain/decision_time.hpp"
#include "common/domain/ietf_headers.hpp"
#include "common/json/text.hpp"

namespace sluice {
namespace {

constexpr std::string_view kLineEnd = "\r\n";

// Adds a header line.
void add_line(std::string& out, std::string_view name, std::int64_t value) {
  out.append(name);
  json::append_integer(out, value);
  out.append(kLineEnd);
}

void add_structured_line(std::string& out, std::string_view name, std::int64_t value) {
  add_structured(out, name, value);
  out.append(kLineEnd);
}

void add_x(const Decision& decision, bool only_remaining, std::string& out) {
  if (!only_remaining) add_line(out, "X-RateLimit-Limit: ", decision.report.limit);
  add_line(out, "X-RateLimit-Remaining: ", decision.report.remaining);
  if (only_remaining) return;
  add_line(out, "X-RateLimit-Reset: ", unix_seconds_up(decision.now_us, decision.report.reset_after_us));
}

void add_draft6(const Decision& decision, bool only_remaining, std::string& out) {
  if (!only_remaining) add_structured_line(out, "RateLimit-Limit: ", decision.report.limit);
  add_structured_line(out, "RateLimit-Remaining: ", decision.report.remaining);
  if (only_remaining) return;
  add_structured_line(out, "RateLimit-Reset: ", round_up(decision.report.reset_after_us, kMicrosPerSecond));
}

void add_retry_after(std::int64_t wait, std::int64_t least_seconds, std::string& out) {
  if (wait == kNever) return;
  add_line(out, "Retry-After: ", std::max(round_up(wait, kMicrosPerSecond), least_seconds));
}

void add_retry_after_denial(const Decision& decision, std::string& out) {
  if (!decision.has_limit && status_of(decision) != 503) return;
  add_retry_after(wait_us(decision), 1, out);
}

// A call that was let through over a limit, or in shadow mode, is told when it would be within the limit.
void add_retry_after_admission(const Decision& decision, std::string& out) {
  const LimitReport& report = decision.report;
  add_retry_after(report.retry_after_us == kNever ? kNever : std::max(report.retry_after_us, report.delay_us), 0, out);
}

}  // namespace

void write_decision_headers(const Decision& decision, HeaderFamilies families, std::string& out) {
  if (decision.has_limit && decision.expose != Expose::none) {
    const bool only_remaining = decision.expose == Expose::remaining;
    if (families.x) add_x(decision, only_remaining, out);
    if (families.ietf) add_ietf_headers(decision, only_remaining, out);
    if (families.ietf_next) add_next_ietf_headers(decision, only_remaining, out);
    if (families.draft6) add_draft6(decision, only_remaining, out);
  }
  if (!decision.allowed) {
    add_retry_after_denial(decision, out);
  } else if (families.retry_after && decision.has_limit && decision.expose == Expose::all) {
    add_retry_after_admission(decision, out);
  }
}

}  // namespace sluice
