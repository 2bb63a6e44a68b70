// Organizations, tenants, plans and policies: made, read, replaced, patched, listed and removed.
#include <doctest/doctest.h>
#include <fmt/core.h>

#include "server/audit/verify.hpp"
#include "tests/integration/server/admin_rig.hpp"

namespace sluice::server::test {
namespace {

constexpr std::string_view kPro =
    R"({"tenant_id":"shop","name":"Pro plan!","algorithm":"token_bucket","bucket_capacity":100,)"
    R"("refill_rate_per_sec":20})";

struct Acme : AdminRig {
  Acme() { found_acme(); }
};

}  // namespace

TEST_CASE_FIXTURE(AdminRig, "an organization is made once, and answered with its version") {
  const admin::FinishedAnswer made = ask("POST", "/v1/admin/organizations", R"({"id":"acme","name":"Acme"})");
  CHECK(made.status == 201);
  CHECK(at(made, "/name") == "Acme");
  CHECK(at(made, "/version") == "1");
  CHECK(header(made, "ETag") == "\"1\"");
  CHECK(header(made, "Location") == "/v1/admin/organizations/acme");
  const admin::FinishedAnswer again = ask("POST", "/v1/admin/organizations", R"({"id":"acme"})");
  CHECK(again.status == 409);
  CHECK(at(again, "/type") == "/problems/exists");
}

TEST_CASE_FIXTURE(Acme, "a tenant of no organization is refused, however it says so") {
  for (const std::string_view body :
       {R"({"id":"bakery"})", R"({"id":"bakery","organization_id":null})", R"({"id":"bakery","organization_id":""})"}) {
    CAPTURE(body);
    const admin::FinishedAnswer made = ask("POST", "/v1/admin/tenants", body);
    CHECK(made.status == 422);
    CHECK(faulty(made) == "/organization_id");
    const admin::FinishedAnswer dry =
        ask("POST", "/v1/admin/validate", fmt::format(R"({{"kind":"tenant","object":{}}})", body));
    CHECK(dry.status == 422);
    CHECK(faulty(dry) == "/object/organization_id");
  }
  CHECK(ask("PATCH", "/v1/admin/tenants/shop", R"({"organization_id":null})").status == 422);
}

TEST_CASE_FIXTURE(Acme, "a plan in shorthand is answered in canonical form under an id made from its name") {
  const admin::FinishedAnswer made = ask("POST", "/v1/admin/plans", kPro);
  CHECK(made.status == 201);
  CHECK(at(made, "/id") == "pro-plan");
  CHECK(at(made, "/limits/0/capacity") == "100");
  CHECK(header(made, "Location") == "/v1/admin/plans/pro-plan?tenant_id=shop");
  const admin::FinishedAnswer read = ask("GET", "/v1/admin/plans/pro-plan?tenant_id=shop");
  CHECK(read.status == 200);
  CHECK(at(read, "/limits") == at(made, "/limits"));
  const admin::FinishedAnswer second = ask("POST", "/v1/admin/plans", kPro);
  CHECK(second.status == 409);
}

TEST_CASE_FIXTURE(Acme, "a change made on an old version is refused") {
  REQUIRE(ask("POST", "/v1/admin/plans", kPro).status == 201);
  const std::string target = "/v1/admin/plans/pro-plan?tenant_id=shop";
  const admin::FinishedAnswer patched = ask("PATCH", target, R"({"name":"Pro"})", {{"if-match", "\"1\""}});
  CHECK(patched.status == 200);
  CHECK(header(patched, "ETag") == "\"2\"");
  CHECK(at(patched, "/limits/0/capacity") == "100");
  CHECK(ask("PATCH", target, R"({"name":"Max"})", {{"if-match", "\"1\""}}).status == 412);
  CHECK(ask("DELETE", target, "", {{"if-match", "\"1\""}}).status == 412);
  CHECK(at(ask("GET", target), "/name") == "Pro");
  CHECK(ask("GET", target, "", {{"if-none-match", "\"2\""}}).status == 304);
}

TEST_CASE_FIXTURE(Acme, "PUT makes what is not there, and changes nothing where nothing differs") {
  const std::string target = "/v1/admin/plans/pro?tenant_id=shop";
  constexpr std::string_view kBody = R"({"algorithm":"fixed_window","limit":5,"window":"1m"})";
  const admin::FinishedAnswer made = ask("PUT", target, kBody);
  CHECK(made.status == 201);
  const admin::FinishedAnswer same = ask("PUT", target, kBody);
  CHECK(same.status == 200);
  CHECK(at(same, "/version") == "1");
  CHECK(header(same, "Sluice-Revision").empty());
  CHECK(ask("PUT", target, kBody, {{"if-none-match", "*"}}).status == 412);
  const admin::FinishedAnswer changed = ask("PUT", target, R"({"algorithm":"fixed_window","limit":6,"window":"1m"})");
  CHECK(at(changed, "/version") == "2");
  const admin::FinishedAnswer other =
      ask("PUT", target, R"({"id":"max","algorithm":"fixed_window","limit":6,"window":"1m"})");
  CHECK(other.status == 422);
  CHECK(faulty(other) == "/id");
}

TEST_CASE_FIXTURE(Acme, "a body with five faults hears of five") {
  const admin::FinishedAnswer refused =
      ask("POST", "/v1/admin/policies",
          R"({"tenant_id":"shop","id":"Orders!","plan_id":"none","mode":"loud","priority":"high",)"
          R"("valid_from":"yesterday"})");
  CHECK(refused.status == 422);
  CHECK(faulty(refused) == "/mode /valid_from /priority /id /plan_id");
}

TEST_CASE_FIXTURE(Acme, "what is referred to is not deleted, and names what refers to it") {
  REQUIRE(ask("POST", "/v1/admin/plans", kPro).status == 201);
  REQUIRE(ask("PUT", "/v1/admin/policies/orders?tenant_id=shop",
              R"({"scope":{"resource":"GET:/orders"},"plan_id":"pro-plan"})")
              .status == 201);
  const admin::FinishedAnswer refused = ask("DELETE", "/v1/admin/plans/pro-plan?tenant_id=shop");
  CHECK(refused.status == 409);
  CHECK(at(refused, "/errors/0/detail") == "policy orders of tenant shop uses it");
  CHECK(ask("DELETE", "/v1/admin/tenants/shop").status == 409);
  CHECK(ask("DELETE", "/v1/admin/policies/orders?tenant_id=shop").status == 204);
  CHECK(ask("DELETE", "/v1/admin/plans/pro-plan?tenant_id=shop").status == 204);
  CHECK(ask("GET", "/v1/admin/plans/pro-plan?tenant_id=shop").status == 404);
  CHECK(ask("DELETE", "/v1/admin/tenants/shop").status == 204);
}

TEST_CASE_FIXTURE(Acme, "an id that is used again goes on counting its versions") {
  const std::string target = "/v1/admin/plans/pro?tenant_id=shop";
  constexpr std::string_view kBody = R"({"algorithm":"fixed_window","limit":5,"window":"1m"})";
  REQUIRE(ask("PUT", target, kBody).status == 201);
  REQUIRE(ask("DELETE", target).status == 204);
  CHECK(at(ask("PUT", target, kBody), "/version") == "3");
}

TEST_CASE_FIXTURE(Acme, "an id given up by one organization begins anew in another") {
  REQUIRE(ask("DELETE", "/v1/admin/tenants/bank").status == 204);
  const std::string token = this->token("org_admin", R"("organization_id":"other")");
  const admin::FinishedAnswer made = ask_as(token, "PUT", "/v1/admin/tenants/bank", R"({"organization_id":"other"})");
  CHECK(made.status == 201);
  CHECK(at(made, "/version") == "1");
  CHECK(audit::verify(*connect(database_options())).good());
}

TEST_CASE_FIXTURE(Acme, "a list comes in pages that miss nothing") {
  for (int i = 0; i < 5; ++i) {
    REQUIRE(ask("PUT", fmt::format("/v1/admin/plans/p{}?tenant_id={}", i, i < 3 ? "bank" : "shop"),
                R"({"algorithm":"fixed_window","limit":5,"window":"1m"})")
                .status == 201);
  }
  const admin::FinishedAnswer first = ask("GET", "/v1/admin/plans?limit=2");
  CHECK(each(first, "id") == "p0 p1");
  const admin::FinishedAnswer second = ask("GET", "/v1/admin/plans?limit=2&cursor=" + at(first, "/next"));
  CHECK(each(second, "id") == "p2 p3");
  const admin::FinishedAnswer third = ask("GET", "/v1/admin/plans?limit=2&cursor=" + at(second, "/next"));
  CHECK(each(third, "id") == "p4");
  CHECK(at(third, "/next") == "null");
  CHECK(each(ask("GET", "/v1/admin/plans?tenant_id=shop"), "id") == "p3 p4");
  CHECK(faulty(ask("GET", "/v1/admin/plans?limit=0")) == "?limit");
  CHECK(faulty(ask("GET", "/v1/admin/plans?cursor=x")) == "?cursor");
}

TEST_CASE_FIXTURE(Acme, "a repeated call is answered again and done once") {
  const Headers key{{"idempotency-key", "a1"}};
  const admin::FinishedAnswer first = ask("POST", "/v1/admin/plans", kPro, key);
  const admin::FinishedAnswer again = ask("POST", "/v1/admin/plans", kPro, key);
  CHECK(first.status == 201);
  CHECK(again.status == 201);
  CHECK(again.body == first.body);
  CHECK(header(again, "Idempotency-Replayed") == "true");
  CHECK(execute("SELECT count(*) FROM plans") == "1");
  CHECK(execute("SELECT count(*) FROM audit WHERE kind = 'plan'") == "1");
  const admin::FinishedAnswer other = ask("POST", "/v1/admin/tenants", kPro, key);
  CHECK(other.status == 422);
  CHECK(at(other, "/type") == "/problems/idempotency-key-reused");
}

TEST_CASE_FIXTURE(Acme, "every change is a version, an audit row and an entry of what agents follow, in one revision") {
  const std::string before = execute("SELECT revision FROM revision");
  const admin::FinishedAnswer made = ask("POST", "/v1/admin/plans", kPro);
  CHECK(std::stoi(header(made, "Sluice-Revision")) == std::stoi(before) + 1);
  const std::string revision = header(made, "Sluice-Revision");
  CHECK(at(made, "/revision") == revision);
  for (const char* table : {"versions", "audit", "changes"}) {
    CHECK(execute(fmt::format("SELECT version, kind FROM {} WHERE revision = {}", table, revision)) == "1|plan");
  }
}

}  // namespace sluice::server::test
