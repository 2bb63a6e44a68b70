// Which requests with a session may have been made by a page of another site.
#include "server/sessions/request_check.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>

namespace sluice::server::sessions {
namespace {

constexpr std::string_view kHost = "sluice.example.com";

bool foreign(std::string_view fetch_site, std::string_view origin, const std::string& own_origin = "") {
  return from_another_site({.fetch_site = fetch_site, .origin = origin, .host = kHost, .csrf_token = {}},
                           {.origin = own_origin, .secure = true});
}

TEST_CASE("a browser that says where the call comes from is believed") {
  CHECK_FALSE(foreign("same-origin", ""));
  CHECK_FALSE(foreign("none", ""));  // typed by the person
  CHECK(foreign("cross-site", ""));
  CHECK(foreign("same-site", ""));  // another host of the domain
  CHECK(foreign("anything", ""));
  CHECK(foreign("cross-site", "https://sluice.example.com"));
  // A proxy changed Host.
  CHECK_FALSE(foreign("same-origin", "https://console.example.com"));
}

TEST_CASE("without Sec-Fetch-Site, the origin must be the request's host or the console's address") {
  CHECK_FALSE(foreign("", ""));
  CHECK_FALSE(foreign("", "https://sluice.example.com"));
  CHECK_FALSE(foreign("", "https://SLUICE.example.com"));
  CHECK(foreign("", "https://evil.example"));
  CHECK(foreign("", "https://sluice.example.com.evil.example"));
  CHECK(foreign("", "https://sluice.example.com:8443"));
  CHECK(foreign("", "null"));
  CHECK(foreign("", "https://console.example.com"));
  CHECK_FALSE(foreign("", "https://console.example.com", "https://console.example.com"));
  CHECK(foreign("", "http://console.example.com", "https://console.example.com"));
}

struct Ask {
  // Returns the type of the problem, "" if the call may go on.
  std::string operator()(std::string_view fetch_site, std::string_view csrf, bool safe) const {
    const auto refusal =
        request_fault(session, {.fetch_site = fetch_site, .origin = {}, .host = kHost, .csrf_token = csrf}, {}, safe);
    if (refusal) CHECK(refusal->status == 403);
    return refusal ? refusal->type : "";
  }
  Presented session{.secret = make_secret(), .hash = {}};
};

TEST_CASE("a call that may change something needs the session's CSRF token") {
  const Ask ask;
  const std::string csrf = csrf_token(ask.session.secret);
  CHECK(ask("same-origin", csrf, false) == "");
  CHECK(ask("same-origin", "", false) == "csrf-token");
  CHECK(ask("same-origin", csrf_token(make_secret()), false) == "csrf-token");
  CHECK(ask("same-origin", "", true) == "");
}

TEST_CASE("a call of another site is refused whatever it knows, also one that only reads") {
  const Ask ask;
  const std::string csrf = csrf_token(ask.session.secret);
  CHECK(ask("cross-site", csrf, false) == "cross-site");
  CHECK(ask("cross-site", csrf, true) == "cross-site");
}

}  // namespace
}  // namespace sluice::server::sessions
