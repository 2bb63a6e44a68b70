#include "server/sessions/request_check.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "common/base/text.hpp"

namespace sluice::server::sessions {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool equal_ignoring_case(std::string_view a, std::string_view b) { return std::ranges::equal(a, b, {}, lower, lower); }

// "https://sluice.example.com" has the host "sluice.example.com". The origin "null" has none.
std::string_view host_of(std::string_view origin) {
  const std::size_t scheme = origin.find("://");
  return scheme == std::string_view::npos ? std::string_view() : origin.substr(scheme + 3);
}

}  // namespace

bool from_another_site(const BrowserHeaders& headers, const Site& site) {
  if (!headers.fetch_site.empty()) return headers.fetch_site != "same-origin" && headers.fetch_site != "none";
  if (headers.origin.empty()) return false;
  if (!site.origin.empty() && equal_ignoring_case(headers.origin, site.origin)) return false;
  const std::string_view host = host_of(headers.origin);
  return host.empty() || !equal_ignoring_case(host, headers.host);
}

std::optional<http::Refusal> request_fault(const Presented& session, const BrowserHeaders& headers, const Site& site,
                                           bool safe) {
  if (from_another_site(headers, site)) {
    return http::Refusal(
        403, "cross-site",
        fmt::format(
            "A page of another site made this call (Origin {}, Sec-Fetch-Site {}). With a session, only pages of "
            "this server may call. Programs send an admin token as Authorization: Bearer instead. If a proxy "
            "changes Host, start the server with --console-url and the address that browsers open.",
            headers.origin.empty() ? "absent" : quoted(headers.origin),
            headers.fetch_site.empty() ? "absent" : quoted(headers.fetch_site)));
  }
  if (safe || is_csrf_token(session.secret, headers.csrf_token)) return std::nullopt;
  return http::Refusal(
      403, "csrf-token",
      fmt::format(
          "With a session, a call other than GET needs the session's CSRF token in the header X-CSRF-Token; the "
          "header {}. GET /v1/admin/session answers the token as csrf_token.",
          headers.csrf_token.empty() ? "is missing" : "has another value"));
}

}  // namespace sluice::server::sessions
