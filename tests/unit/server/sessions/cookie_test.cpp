// The cookie of a session: how it is written, found again, and what its CSRF token is.
#include "server/sessions/cookie.hpp"

#include <doctest/doctest.h>

#include <string>

namespace sluice::server::sessions {
namespace {

TEST_CASE("a cookie is for this site's requests only, hidden from scripts, and over TLS for this host only") {
  CHECK(set_cookie("abc", false) == "Set-Cookie: sluice_session=abc; HttpOnly; SameSite=Strict; Path=/\r\n");
  CHECK(set_cookie("abc", true) ==
        "Set-Cookie: __Host-sluice_session=abc; HttpOnly; SameSite=Strict; Path=/; Secure\r\n");
  CHECK(clear_cookie(true) ==
        "Set-Cookie: __Host-sluice_session=; HttpOnly; SameSite=Strict; Path=/; Max-Age=0; Secure\r\n");
}

TEST_CASE("a session is found among other cookies") {
  const std::string secret = make_secret();
  CHECK(find_session("sluice_session=" + secret, false).secret == secret);
  CHECK(find_session("theme=dark; sluice_session=" + secret + "; a=b", false).secret == secret);
  CHECK(find_session("__Host-sluice_session=" + secret, true).hash == hash_of(secret));
  CHECK(find_session("", false).empty());
  CHECK(find_session("theme=dark;;=;sluice_session", false).empty());
}

TEST_CASE("over TLS a cookie without the prefix opens nothing, because another host may have set it") {
  CHECK(find_session("sluice_session=" + make_secret(), true).empty());
  CHECK(find_session("__Host-sluice_session=" + make_secret(), false).empty());
}

TEST_CASE("a cookie that comes twice, or has another form, is no session") {
  const std::string secret = make_secret();
  CHECK(find_session("sluice_session=" + secret + "; sluice_session=" + make_secret(), false).empty());
  CHECK(find_session("sluice_session=" + secret + "x", false).empty());
  CHECK(find_session("sluice_session=" + secret.substr(1), false).empty());
  CHECK(find_session("sluice_session=" + secret.substr(1) + "-", false).empty());
  CHECK(find_session("sluice_session=", false).empty());
}

TEST_CASE("a CSRF token fits the session that it was made for, and no other") {
  const std::string secret = make_secret();
  const std::string other = make_secret();
  CHECK(secret != other);
  CHECK(is_csrf_token(secret, csrf_token(secret)));
  CHECK_FALSE(is_csrf_token(secret, csrf_token(other)));
  CHECK_FALSE(is_csrf_token(secret, csrf_token(secret).substr(1)));
  CHECK_FALSE(is_csrf_token(secret, ""));
  CHECK(csrf_token(secret).find(secret) == std::string::npos);
}

TEST_CASE("the id of a session says nothing of its secret") {
  const std::string secret = make_secret();
  CHECK(id_of(hash_of(secret)).size() == 16);
  CHECK(hash_of(secret).starts_with(id_of(hash_of(secret))));
}

}  // namespace
}  // namespace sluice::server::sessions
