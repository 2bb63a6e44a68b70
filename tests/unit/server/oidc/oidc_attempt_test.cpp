// A sign-in between its beginning and its end, as the browser's cookie keeps it.
#include "server/oidc/attempt.hpp"

#include <doctest/doctest.h>

#include <string>

#include "common/base/crypto.hpp"

namespace sluice::server::oidc {
namespace {

constexpr std::int64_t kNow = 1'800'000'000'000'000;  // Unix time in µs
constexpr std::int64_t kSecond = 1'000'000;

// What the browser sends back.
std::string cookie_of(const Attempt& attempt, bool secure = false) {
  const std::string line = attempt_cookie(attempt, secure);
  const std::size_t begin = std::string_view("Set-Cookie: ").size();
  return line.substr(begin, line.find(';') - begin);
}

bool is_view(std::string_view path) { return path == "/" || path == "/policies"; }

}  // namespace

TEST_CASE("a cookie comes with the provider's redirect, is hidden from scripts, and is short-lived") {
  const Attempt attempt = begin_attempt("/policies", kNow);
  CHECK(attempt_cookie(attempt, false).ends_with("; HttpOnly; SameSite=Lax; Path=/; Max-Age=600\r\n"));
  CHECK(attempt_cookie(attempt, true).starts_with("Set-Cookie: __Host-sluice_sign_in="));
  CHECK(attempt_cookie(attempt, true).ends_with("; Max-Age=600; Secure\r\n"));
  CHECK(clear_attempt_cookie(true) ==
        "Set-Cookie: __Host-sluice_sign_in=; HttpOnly; SameSite=Lax; Path=/; Max-Age=0; Secure\r\n");
}

TEST_CASE("the browser that began a sign-in ends it, on any server") {
  const Attempt attempt = begin_attempt("/policies?tenant=shop", kNow);
  const auto found = find_attempt("a=b; " + cookie_of(attempt), attempt.state(), false, kNow + 30 * kSecond);
  REQUIRE(found.has_value());
  CHECK(found->return_to == "/policies?tenant=shop");
  CHECK(found->nonce() == attempt.nonce());
  CHECK(found->verifier() == attempt.verifier());
  CHECK(find_attempt(cookie_of(attempt, true), attempt.state(), true, kNow).has_value());
}

TEST_CASE("two sign-ins have nothing in common, and nothing of one tells another part of it") {
  const Attempt one = begin_attempt("/", kNow);
  const Attempt two = begin_attempt("/", kNow);
  CHECK(one.state() != two.state());
  CHECK(one.nonce() != two.nonce());
  CHECK(one.verifier() != two.verifier());
  CHECK(one.state() != one.nonce());
  CHECK(one.nonce() != one.verifier());
  CHECK(one.verifier().size() == 43);
  CHECK(one.challenge() == to_base64url(sha256(one.verifier())));
}

TEST_CASE("a state of another browser, or none, ends no sign-in") {
  const Attempt attempt = begin_attempt("/", kNow);
  const std::string cookie = cookie_of(attempt);
  CHECK_FALSE(find_attempt(cookie, begin_attempt("/", kNow).state(), false, kNow).has_value());
  CHECK_FALSE(find_attempt(cookie, "", false, kNow).has_value());
  CHECK_FALSE(find_attempt("", attempt.state(), false, kNow).has_value());
  CHECK_FALSE(
      find_attempt(cookie + "; " + cookie_of(begin_attempt("/", kNow)), attempt.state(), false, kNow).has_value());
  CHECK_FALSE(find_attempt(cookie, attempt.state(), true, kNow).has_value());  // set without TLS
}

TEST_CASE("a cookie that was changed ends no sign-in") {
  const Attempt attempt = begin_attempt("/policies", kNow);
  const std::string state = attempt.state();
  Attempt elsewhere = attempt;
  elsewhere.return_to = "//evil.example.com";
  CHECK_FALSE(find_attempt(cookie_of(elsewhere), state, false, kNow).has_value());
  Attempt later = attempt;
  later.begun_at += 600;
  CHECK_FALSE(find_attempt(cookie_of(later), state, false, kNow).has_value());
  for (const std::string_view value : {"", ".", "..", "x.1.", "sluice", "a.b.c.d"}) {
    CHECK_FALSE(find_attempt("sluice_sign_in=" + std::string(value), state, false, kNow).has_value());
  }
}

TEST_CASE("a sign-in is given up after ten minutes") {
  const Attempt attempt = begin_attempt("/", kNow);
  const std::string cookie = cookie_of(attempt);
  CHECK(find_attempt(cookie, attempt.state(), false, kNow + 600 * kSecond).has_value());
  CHECK_FALSE(find_attempt(cookie, attempt.state(), false, kNow + 601 * kSecond).has_value());
  CHECK(find_attempt(cookie, attempt.state(), false, kNow - 60 * kSecond).has_value());  // another server's clock
  CHECK_FALSE(find_attempt(cookie, attempt.state(), false, kNow - 601 * kSecond).has_value());
}

TEST_CASE("a browser is sent to the console's own views only") {
  for (const std::string_view good : {"/", "/policies", "/policies?tenant=shop&x=%2F", "/policies#top"}) {
    CHECK(may_return_to(good, is_view));
  }
  for (const std::string_view bad :
       {"", "policies", "//evil.example.com", "//policies", "/\\evil.example.com", "https://evil.example.com/policies",
        "/policies/../x", "/v1/admin/session", "/policies\r\nSet-Cookie: a=b", "/policies x", "/policies\t",
        "/policies?\xc3\xa4", "/elsewhere"}) {
    CAPTURE(bad);
    CHECK_FALSE(may_return_to(bad, is_view));
  }
  CHECK_FALSE(may_return_to("/policies?" + std::string(kMaxReturnBytes, 'x'), is_view));
}

}  // namespace sluice::server::oidc
