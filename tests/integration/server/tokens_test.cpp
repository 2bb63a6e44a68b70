// Tokens: who may hand out what to whom, and that nobody locks himself out.
#include <doctest/doctest.h>
#include <fmt/core.h>

#include <thread>

#include "common/base/timestamp.hpp"
#include "common/domain/credential.hpp"
#include "server/auth/bootstrap.hpp"
#include "server/auth/token_store.hpp"
#include "tests/integration/server/admin_rig.hpp"

namespace sluice::server::test {
namespace {

constexpr std::string_view kTokens = "/v1/admin/tokens";
constexpr std::string_view kAcme = R"("organization_id":"acme")";
constexpr std::string_view kShop = R"("organization_id":"acme","tenant_ids":["shop"])";

struct Acme : AdminRig {
  Acme() { found_acme(); }

  admin::FinishedAnswer grant(std::string_view giver, std::string_view role, std::string_view scope) {
    return ask_as(giver, "POST", kTokens,
                  fmt::format(R"({{"name":"x","role":"{}"{}{}}})", role, scope.empty() ? "" : ",", scope));
  }
  std::string id_of(const std::string& token) { return at(ask_as(token, "GET", "/v1/admin/whoami"), "/id"); }
  std::string path_of(const std::string& token) { return fmt::format("{}/{}", kTokens, id_of(token)); }
};

}  // namespace

TEST_CASE_FIXTURE(Acme, "a token is shown once, opens what it says, and is kept as a hash") {
  const admin::FinishedAnswer made =
      ask("POST", kTokens, R"({"name":"ci","role":"operator","organization_id":"acme"})", {{"idempotency-key", "t"}});
  REQUIRE(made.status == 201);
  const std::string token = at(made, "/token");
  CHECK(token.starts_with("sla_" + at(made, "/id") + "_"));
  CHECK(at(made, "/organization_id") == "acme");
  CHECK(at(made, "/tenant_ids") == "[]");
  CHECK(at(made, "/revoked") == "false");
  CHECK(header(made, "Location") == fmt::format("{}/{}", kTokens, at(made, "/id")));
  const admin::FinishedAnswer again =
      ask("POST", kTokens, R"({"name":"ci","role":"operator","organization_id":"acme"})", {{"idempotency-key", "t"}});
  CHECK(at(again, "/token") == "null");
  CHECK(at(again, "/secret_already_shown") == "true");
  const admin::FinishedAnswer self = ask_as(token, "GET", "/v1/admin/whoami");
  CHECK(self.status == 200);
  CHECK(at(self, "/name") == "ci");
  CHECK(at(self, "/permissions") == R"(["read","read_audit","operate"])");
  CHECK(at(ask("GET", header(made, "Location")), "/token") == "(absent)");
  const std::string secret(parse_key(token, CredentialKind::admin_token)->secret);
  CHECK(execute("SELECT t.*, v.document, a.after FROM tokens t, versions v, audit a").find(secret) ==
        std::string::npos);
  CHECK(execute("SELECT body FROM idempotency").find(secret) == std::string::npos);
}

TEST_CASE_FIXTURE(Acme, "a faulty token hears of all its faults") {
  const admin::FinishedAnswer refused =
      ask("POST", kTokens,
          R"({"id":"mine","role":"root","organization_id":"acme","expires_at":"2001-01-01T00:00:00Z",)"
          R"("tenant_ids":["shop","kiosk","none",7,"shop"],"colour":"red"})");
  CHECK(refused.status == 422);
  CHECK(faulty(refused) ==
        "/name /role /tenant_ids/3 /tenant_ids/4 /colour /id /expires_at /tenant_ids/1 /tenant_ids/2");
  CHECK(at(refused, "/errors/7/detail") == R"(there is no tenant "kiosk" in organization "acme")");
  CHECK(at(refused, "/errors/8/detail") == R"(there is no tenant "none" in organization "acme")");
  CHECK(faulty(grant(admin(), "platform_admin", kShop)) == "/organization_id /tenant_ids");
  CHECK(faulty(grant(admin(), "org_admin", "")) == "/organization_id");
  CHECK(faulty(grant(admin(), "auditor", R"("organization_id":"none")")) == "/organization_id");
}

TEST_CASE_FIXTURE(Acme, "the tenants of a token say its organization, and are all of one") {
  CHECK(at(grant(admin(), "operator", R"("tenant_ids":["bank","shop"])"), "/organization_id") == "acme");
  CHECK(faulty(grant(admin(), "operator", R"("tenant_ids":["bank","kiosk"])")) == "/tenant_ids/1");
}

TEST_CASE_FIXTURE(Acme, "a token never hands out more than it has") {
  const std::string acme = token("org_admin", kAcme);
  const std::string shop = token("org_admin", kShop);
  CHECK(grant(acme, "platform_admin", "").status == 403);
  CHECK(grant(acme, "org_admin", kAcme).status == 201);
  CHECK(grant(acme, "operator", R"("organization_id":"other")").status == 422);
  CHECK(at(grant(acme, "operator", ""), "/organization_id") == "acme");
  CHECK(grant(shop, "auditor", R"("tenant_ids":[])").status == 403);
  CHECK(faulty(grant(shop, "auditor", R"("tenant_ids":["bank"])")) == "/tenant_ids/0");
  CHECK(at(grant(shop, "auditor", ""), "/tenant_ids") == R"(["shop"])");
  CHECK(grant(token("operator"), "auditor", "").status == 403);
  CHECK(grant(token("auditor"), "auditor", "").status == 403);
}

TEST_CASE_FIXTURE(Acme, "a token sees and changes tokens within its own reach only") {
  const std::string acme = token("org_admin", kAcme);
  const std::string shop = token("org_admin", kShop);
  const std::string kiosk = token("auditor", R"("organization_id":"other")");
  CHECK(each(ask_as(shop, "GET", kTokens), "id") == id_of(shop));
  CHECK(each(ask_as(kiosk, "GET", kTokens), "id") == id_of(kiosk));
  CHECK(at(ask_as(acme, "GET", kTokens), "/items/1/id") != "(absent)");
  for (const std::string& beyond : {acme, kiosk, admin()}) {
    const std::string path = path_of(beyond);
    CHECK(ask_as(shop, "GET", path).status == 404);
    CHECK(ask_as(shop, "PATCH", path, R"({"revoked":true})").status == 404);
    CHECK(ask_as(shop, "DELETE", path).status == 404);
  }
  CHECK(ask_as(acme, "DELETE", path_of(shop)).status == 204);
  CHECK(ask_as(shop, "GET", "/v1/admin/whoami").status == 401);
}

TEST_CASE_FIXTURE(Acme, "what a revoked, an ended or a deleted token asks is answered 401") {
  const std::string revoked = token("operator");
  const std::string path = path_of(revoked);
  const admin::FinishedAnswer patched = ask("PATCH", path, R"({"revoked":true})");
  CHECK(patched.status == 200);
  CHECK(at(patched, "/version") == "2");
  CHECK(execute("SELECT action FROM audit ORDER BY revision DESC LIMIT 1") == "revoke");
  CHECK(ask_as(revoked, "GET", "/v1/admin/whoami").status == 401);
  CHECK(faulty(ask("PATCH", path, R"({"revoked":false})")) == "/revoked");
  CHECK(ask("PATCH", path, R"({"name":"gone"})").status == 200);

  const std::string ending = token("operator");
  const auto end = std::chrono::sys_time<std::chrono::microseconds>(std::chrono::microseconds(clock.now_us())) +
                   std::chrono::hours(1);
  CHECK(ask("PATCH", path_of(ending), fmt::format(R"({{"expires_at":"{}"}})", format_timestamp(end))).status == 200);
  clock.advance(std::chrono::minutes(59));
  CHECK(ask_as(ending, "GET", "/v1/admin/whoami").status == 200);
  clock.advance(std::chrono::minutes(1));
  CHECK(ask_as(ending, "GET", "/v1/admin/whoami").status == 401);

  const std::string deleted = token("operator");
  CHECK(ask("DELETE", path_of(deleted)).status == 204);
  CHECK(ask_as(deleted, "GET", "/v1/admin/whoami").status == 401);
}

TEST_CASE_FIXTURE(Acme, "role and scope of a token stay as they were made") {
  const std::string path = path_of(token("operator", kShop));
  const admin::FinishedAnswer refused =
      ask("PATCH", path, R"({"role":"auditor","organization_id":"other","tenant_ids":["bank"],"id":"x"})");
  CHECK(refused.status == 422);
  CHECK(faulty(refused) == "/id /role /organization_id /tenant_ids");
  CHECK(at(ask("PATCH", path, R"({"name":"new","role":"operator"})"), "/name") == "new");
  CHECK(ask("PATCH", path, R"({"name":"newer"})", {{"if-match", "\"1\""}}).status == 412);
}

TEST_CASE_FIXTURE(Acme, "the last live platform_admin token stays") {
  const std::string mine = path_of(admin());
  const auto all_refused = [&] {
    CHECK(ask("DELETE", mine).status == 409);
    CHECK(ask("PATCH", mine, R"({"revoked":true})").status == 409);
    CHECK(ask("PATCH", mine, R"({"expires_at":"2001-01-01T00:00:00Z"})").status == 409);
  };
  all_refused();
  const std::string second = token("platform_admin");
  CHECK(ask("PATCH", path_of(second), R"({"revoked":true})").status == 200);
  all_refused();
  const std::string third = token("platform_admin");
  CHECK(ask("DELETE", mine).status == 204);
  CHECK(ask("GET", "/v1/admin/whoami").status == 401);
  CHECK(ask_as(third, "DELETE", path_of(third)).status == 409);
}

TEST_CASE_FIXTURE(Acme, "of the last two platform_admins one stays, also where both go at the same time") {
  const std::string second = path_of(token("platform_admin"));
  const std::string first = id_of(admin());
  const auto connection = postgres::connect(database_options());
  postgres::Transaction other(*connection);
  other.enter(postgres::Scope::everything("other"));
  REQUIRE(auth::lock_platform_admins(other, clock.now_us()).size() == 2);
  admin::FinishedAnswer answer;
  std::jthread asking([&] { answer = ask("DELETE", second); });
  const std::string waiting =
      "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
  while (execute(waiting) == "0") std::this_thread::yield();
  store::remove(other, {.kind = Kind::token, .tenant_id = {}, .id = first});
  other.commit();
  asking.join();
  CHECK(answer.status == 409);
  CHECK(at(answer, "/type") == "/problems/last-admin");
}

TEST_CASE_FIXTURE(Acme, "a token of a tenant keeps the tenant from being deleted") {
  const std::string shop = token("operator", kShop);
  const admin::FinishedAnswer refused = ask("DELETE", "/v1/admin/tenants/shop");
  CHECK(refused.status == 409);
  CHECK(at(refused, "/errors/0/detail") == fmt::format("token {} uses it", id_of(shop)));
}

TEST_CASE_FIXTURE(Acme, "agent tokens have a scope and no role") {
  const admin::FinishedAnswer made = ask("POST", "/v1/admin/agent-tokens", R"({"name":"pods","tenant_ids":["shop"]})");
  REQUIRE(made.status == 201);
  CHECK(at(made, "/token").starts_with("slg_" + at(made, "/id") + "_"));
  CHECK(at(made, "/organization_id") == "acme");
  CHECK(at(made, "/role") == "(absent)");
  CHECK(ask_as(at(made, "/token"), "GET", "/v1/admin/whoami").status == 401);
  CHECK(faulty(ask("POST", "/v1/admin/agent-tokens", R"({"name":"x","role":"operator"})")) == "/role");
  CHECK(each(ask("GET", "/v1/admin/agent-tokens?organization_id=acme"), "id") == at(made, "/id"));
  CHECK(each(ask("GET", "/v1/admin/agent-tokens?organization_id=other"), "id").empty());
  const std::string path = header(made, "Location");
  CHECK(at(ask("PATCH", path, R"({"revoked":true})"), "/revoked") == "true");
  CHECK(ask("DELETE", path).status == 204);
  CHECK(ask("GET", path).status == 404);
}

TEST_CASE_FIXTURE(Acme, "bootstrap makes one token, and another only when told to") {
  const auto refused = auth::bootstrap(database_options(), "again", false);
  REQUIRE(!refused);
  CHECK(refused.error().code == "already_bootstrapped");
  const auto second = auth::bootstrap(database_options(), "second", true);
  REQUIRE(second);
  CHECK(at(ask_as(*second, "GET", "/v1/admin/whoami"), "/role") == "platform_admin");
  CHECK(execute("SELECT actor_id, action, kind FROM audit WHERE organization_id = '' ORDER BY seq LIMIT 1") ==
        "bootstrap|create|token");
  CHECK(auth::bootstrap(database_options(), "", true).error().code == "invalid_name");
  CHECK(auth::bootstrap({.url = "postgresql:///sluice?host=/nowhere&user=x"}, "x", false).error().code ==
        "database_away");
}

TEST_CASE_FIXTURE(AdminRig, "a transaction that says no scope sees nothing, whatever its connection did before") {
  const auto connection = postgres::connect(database_options());
  for (const char* scope : {"", "*", "acme"}) {
    if (*scope != '\0') {
      postgres::Transaction before(*connection);
      before.enter({.organization = scope, .tenants = {}, .actor = "x"});
      before.commit();
    }
    postgres::Transaction tx(*connection);
    for (const char* table : {"tokens", "audit", "audit_heads", "versions", "changes"}) {
      CAPTURE(table);
      CHECK(tx.exec_text(fmt::format("SELECT FROM {}", table)).empty());
    }
  }
}

}  // namespace sluice::server::test
