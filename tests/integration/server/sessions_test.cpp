// Sessions of browsers: what one opens, and when it ends.
#include <doctest/doctest.h>
#include <fmt/core.h>

#include "common/base/timestamp.hpp"
#include "server/sessions/cookie.hpp"
#include "server/sessions/session_store.hpp"
#include "tests/integration/server/admin_rig.hpp"

namespace sluice::server::test {
namespace {

constexpr std::string_view kSession = "/v1/admin/session";

struct SignedIn : AdminRig {
  SignedIn() { found_acme(); }

  // Returns the secret in the cookie.
  std::string sign_in(std::string_view token) {
    const admin::FinishedAnswer made = ask_as(token, "POST", kSession);
    REQUIRE(made.status == 200);
    const std::size_t begin = made.secret_headers.find('=') + 1;
    return made.secret_headers.substr(begin, made.secret_headers.find(';') - begin);
  }
  std::string token_of_shop() { return token("operator", R"("organization_id":"acme","tenant_ids":["shop"])"); }
  unsigned reads(std::string_view secret) { return ask_by_session(secret, "GET", "/v1/admin/tenants").status; }
  std::string id_of(std::string_view token) { return at(ask_as(token, "GET", "/v1/admin/whoami"), "/id"); }
  std::string count() const { return execute("SELECT count(*) FROM console_sessions"); }
};

}  // namespace

TEST_CASE_FIXTURE(SignedIn, "a session says whose it is, and opens what its token opens and no more") {
  const std::string token = token_of_shop();
  const std::string secret = sign_in(token);
  const admin::FinishedAnswer session = ask_by_session(secret, "GET", kSession);
  CHECK(session.status == 200);
  CHECK(at(session, "/token_id") == id_of(token));
  CHECK(at(session, "/name") == "operator");
  CHECK(at(session, "/role") == "operator");
  CHECK(at(session, "/organization_id") == "acme");
  CHECK(at(session, "/tenant_ids") == R"(["shop"])");
  CHECK(at(session, "/csrf_token") == sessions::csrf_token(secret));
  CHECK(at(session, "/id") == sessions::id_of(sessions::hash_of(secret)));
  CHECK(each(ask_by_session(secret, "GET", "/v1/admin/tenants"), "id") == "shop");
  CHECK(ask_by_session(secret, "POST", "/v1/admin/plans", "{}").status == 403);  // an operator's role
  CHECK(ask_by_session(secret, "PUT", "/v1/admin/modes/tenants/shop", R"({"mode":"shadow"})").status == 200);
  CHECK(ask_by_session(secret, "PUT", "/v1/admin/modes/tenants/bank", R"({"mode":"shadow"})").status == 404);
}

TEST_CASE_FIXTURE(SignedIn, "the database holds neither the cookie nor the CSRF token, and a replay shows neither") {
  const Headers headers{{"idempotency-key", "once"}};
  const admin::FinishedAnswer made = ask("POST", kSession, "{}", headers);
  CHECK(made.secret_headers.starts_with("Set-Cookie: sluice_session="));
  const admin::FinishedAnswer again = ask("POST", kSession, "{}", headers);
  CHECK(again.status == 200);
  CHECK(again.secret_headers.empty());
  CHECK(header(again, "Set-Cookie").empty());
  CHECK(at(again, "/csrf_token") == "null");
  CHECK(count() == "1");
  const std::string stored =
      execute("SELECT s::text FROM console_sessions s") + execute("SELECT i::text FROM idempotency i");
  const std::size_t begin = made.secret_headers.find('=') + 1;
  CHECK(stored.find(made.secret_headers.substr(begin, 43)) == std::string::npos);
  CHECK(stored.find(at(made, "/csrf_token")) == std::string::npos);
}

TEST_CASE_FIXTURE(SignedIn, "a session ends after eight hours") {
  const std::string secret = sign_in(admin());
  clock.advance(sessions::kLifetime - std::chrono::seconds(1));
  CHECK(reads(secret) == 200);
  clock.advance(std::chrono::seconds(1));
  const admin::FinishedAnswer late = ask_by_session(secret, "GET", kSession);
  CHECK(late.status == 401);
  CHECK(at(late, "/code") == "expired");
  CHECK(at(late, "/detail").find("sign in again") != std::string::npos);
}

TEST_CASE_FIXTURE(SignedIn, "a session ends when its token is revoked, removed or expires, for good") {
  const std::string revoked = token_of_shop();
  const std::string removed = token("operator", R"("organization_id":"acme")");
  const std::string expired = token("auditor");
  const std::string of_revoked = sign_in(revoked);
  const std::string of_removed = sign_in(removed);
  const std::string of_expired = sign_in(expired);
  CHECK(count() == "3");
  CHECK(ask("PATCH", "/v1/admin/tokens/" + id_of(revoked), R"({"revoked":true})").status == 200);
  CHECK(ask("DELETE", "/v1/admin/tokens/" + id_of(removed)).status == 204);
  const std::string path = "/v1/admin/tokens/" + id_of(expired);
  CHECK(ask("PATCH", path, R"({"expires_at":"2020-01-01T00:00:00Z"})").status == 200);
  CHECK(ask("PATCH", path, R"({"expires_at":null})").status == 200);  // the token lives again
  CHECK(reads(of_revoked) == 401);
  CHECK(reads(of_removed) == 401);
  CHECK(reads(of_expired) == 401);
  CHECK(count() == "0");
}

TEST_CASE_FIXTURE(SignedIn, "a session ends at the time that its token expires by itself") {
  const auto in_an_hour = WallTime(Micros(clock.now_us())) + std::chrono::hours(1);
  const std::string short_lived = token("auditor", fmt::format(R"("expires_at":"{}")", format_timestamp(in_an_hour)));
  const std::string secret = sign_in(short_lived);
  CHECK(reads(secret) == 200);
  clock.advance(std::chrono::hours(1));
  CHECK(reads(secret) == 401);
}

TEST_CASE_FIXTURE(SignedIn, "who signs out ends this session and no other, and the cookie is taken back") {
  const std::string one = sign_in(admin());
  const std::string other = sign_in(admin());
  const admin::FinishedAnswer out = ask_by_session(one, "DELETE", kSession);
  CHECK(out.status == 204);
  CHECK(header(out, "Set-Cookie").find("Max-Age=0") != std::string::npos);
  CHECK(reads(one) == 401);
  CHECK(reads(other) == 200);
}

TEST_CASE_FIXTURE(SignedIn, "a session starts no other one, and a token has none of its own") {
  const std::string secret = sign_in(admin());
  CHECK(ask_by_session(secret, "POST", kSession).status == 403);
  CHECK(ask("GET", kSession).status == 404);
  CHECK(ask("DELETE", kSession).status == 404);
  CHECK(count() == "1");
}

TEST_CASE_FIXTURE(SignedIn, "a token has a bounded number of sessions: a further one ends the oldest") {
  const std::string oldest = sign_in(admin());
  clock.advance(std::chrono::seconds(1));
  const std::string second = sign_in(admin());
  for (std::size_t i = 2; i <= sessions::kMaxPerToken; ++i) {
    clock.advance(std::chrono::seconds(1));
    sign_in(admin());
  }
  CHECK(count() == std::to_string(sessions::kMaxPerToken));
  CHECK(reads(oldest) == 401);
  CHECK(reads(second) == 200);
}

TEST_CASE_FIXTURE(SignedIn, "expired sessions are removed, and no others") {
  const std::string old = sign_in(admin());
  clock.advance(std::chrono::hours(5));
  const std::string fresh = sign_in(admin());
  clock.advance(std::chrono::hours(3));
  const auto connection = postgres::connect(database_options());
  postgres::Transaction tx(*connection);
  tx.enter(postgres::Scope::everything("tidy"));
  sessions::delete_expired(tx, clock.now_us());
  tx.commit();
  CHECK(count() == "1");
  CHECK(reads(fresh) == 200);
}

TEST_CASE_FIXTURE(SignedIn, "the trail names the token and the session that a change came by") {
  const std::string secret = sign_in(admin());
  CHECK(ask_by_session(secret, "PUT", "/v1/admin/modes/global", R"({"mode":"shadow"})").status == 200);
  const admin::FinishedAnswer trail = ask("GET", "/v1/admin/audit?limit=1");
  CHECK(at(trail, "/items/0/actor_id") == id_of(admin()));
  CHECK(at(trail, "/items/0/source") == "192.0.2.1");
  CHECK(at(trail, "/items/0/session_id") == sessions::id_of(sessions::hash_of(secret)));
  CHECK(ask("PUT", "/v1/admin/modes/global", R"({"mode":"enforce"})").status == 200);
  CHECK(at(ask("GET", "/v1/admin/audit?limit=1"), "/items/0/session_id") == "null");
}

TEST_CASE_FIXTURE(SignedIn, "an administrator of some tenants ends the sessions of a token that it revokes") {
  const std::string giver = token("org_admin", R"("organization_id":"acme","tenant_ids":["shop"])");
  const std::string revoked = token_of_shop();
  const std::string secret = sign_in(revoked);
  CHECK(ask_as(giver, "PATCH", "/v1/admin/tokens/" + id_of(revoked), R"({"revoked":true})").status == 200);
  CHECK(reads(secret) == 401);
  CHECK(count() == "0");
}

}  // namespace sluice::server::test
