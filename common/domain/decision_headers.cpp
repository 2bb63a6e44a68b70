// RateLimit-Policy and RateLimit follow revision 08 of draft-ietf-httpapi-ratelimit-headers; the older names
// RateLimit-Limit, -Remaining and -Reset follow revision 06. Both revisions use structured fields (RFC 9651).
#include <algorithm>

#include "common/domain/decision.hpp"
#include "common/domain/decision_time.hpp"
#include "common/json/text.hpp"

namespace sluice {
namespace {

constexpr std::int64_t kMaxStructuredInteger = 999'999'999'999'999;  // RFC 9651 3.3.1: 15 digits

void add_field(std::string& out, std::string_view key, std::int64_t value) {
  out.append(key);
  json::append_integer(out, value);
}

void add_structured(std::string& out, std::string_view key, std::int64_t value) {
  add_field(out, key, std::clamp<std::int64_t>(value, 0, kMaxStructuredInteger));
}

// Adds an sf-string (RFC 9651 3.3.3). Bytes that it cannot hold become '?', so no text can end the header line.
void add_structured_string(std::string& out, std::string_view text) {
  out.push_back('"');
  for (const char c : text) {
    if (c == '"' || c == '\\') out.push_back('\\');
    out.push_back(c >= 0x20 && c <= 0x7E ? c : '?');
  }
  out.push_back('"');
}

void add_x(const Decision& decision, std::string& out) {
  add_field(out, "X-RateLimit-Limit: ", decision.report.limit);
  add_field(out, "\r\nX-RateLimit-Remaining: ", decision.report.remaining);
  add_field(out, "\r\nX-RateLimit-Reset: ", unix_seconds_up(decision.now_us, decision.report.reset_after_us));
  out.append("\r\n");
}

void add_ietf(const Decision& decision, std::string& out) {
  out.append("RateLimit-Policy: ");
  add_structured_string(out, decision.limit_name);
  add_structured(out, ";q=", decision.report.limit);
  if (decision.window_us > 0) add_structured(out, ";w=", round_up(decision.window_us, kMicrosPerSecond));
  out.append("\r\nRateLimit: ");
  add_structured_string(out, decision.limit_name);
  add_structured(out, ";r=", decision.report.remaining);
  add_structured(out, ";t=", round_up(decision.report.reset_after_us, kMicrosPerSecond));
  out.append("\r\n");
}

void add_draft6(const Decision& decision, std::string& out) {
  add_structured(out, "RateLimit-Limit: ", decision.report.limit);
  add_structured(out, "\r\nRateLimit-Remaining: ", decision.report.remaining);
  add_structured(out, "\r\nRateLimit-Reset: ", round_up(decision.report.reset_after_us, kMicrosPerSecond));
  out.append("\r\n");
}

void add_retry_after(std::int64_t wait, std::int64_t least_seconds, std::string& out) {
  if (wait == kNever) return;
  add_field(out, "Retry-After: ", std::max(round_up(wait, kMicrosPerSecond), least_seconds));
  out.append("\r\n");
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
  if (decision.has_limit) {
    if (families.x) add_x(decision, out);
    if (families.ietf) add_ietf(decision, out);
    if (families.draft6) add_draft6(decision, out);
  }
  if (!decision.allowed) {
    add_retry_after_denial(decision, out);
  } else if (families.retry_after && decision.has_limit) {
    add_retry_after_admission(decision, out);
  }
}

}  // namespace sluice
