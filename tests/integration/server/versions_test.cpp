// Versions of plans and policies, rollback and rollout.
#include <doctest/doctest.h>
#include <fmt/core.h>

#include "server/audit/verify.hpp"
#include "tests/integration/server/admin_rig.hpp"

namespace sluice::server::test {
namespace {

std::string target(std::string_view rest) { return fmt::format("/v1/admin/policies/orders{}?tenant_id=shop", rest); }

// The plan pro, and the policy orders in three versions: priority 1, 2, 3.
struct Shop : AdminRig {
  Shop() {
    found_acme();
    REQUIRE(ask("PUT", "/v1/admin/plans/pro?tenant_id=shop", R"({"algorithm":"fixed_window","limit":5,"window":"1m"})")
                .status == 201);
    for (int i = 1; i <= 3; ++i) {
      const admin::FinishedAnswer put =
          ask("PUT", target(""),
              fmt::format(R"({{"scope":{{"resource":"GET:/orders"}},"plan_id":"pro","priority":{}}})", i));
      REQUIRE(put.status == (i == 1 ? 201 : 200));
    }
  }
};

}  // namespace

TEST_CASE_FIXTURE(Shop, "every version is kept, newest first, a removal too") {
  REQUIRE(ask("DELETE", target("")).status == 204);
  const admin::FinishedAnswer all = ask("GET", target("/versions"));
  CHECK(each(all, "version") == "4 3 2 1");
  CHECK(each(all, "removed") == "true false false false");
  CHECK(at(all, "/items/0/document") == "null");
  CHECK(at(all, "/items/1/document/priority") == "3");
  CHECK(at(all, "/items/3/actor_id").starts_with("token-"));
  const admin::FinishedAnswer first = ask("GET", target("/versions") + "&limit=3");
  CHECK(each(first, "version") == "4 3 2");
  const admin::FinishedAnswer rest = ask("GET", target("/versions") + "&limit=3&cursor=" + at(first, "/next"));
  CHECK(each(rest, "version") == "1");
  CHECK(at(rest, "/next") == "null");
  CHECK(at(ask("GET", target("/versions/2")), "/document/priority") == "2");
  CHECK(at(ask("GET", target("/versions/4")), "/removed") == "true");
  for (const char* none : {"5", "0", "-1", "x", "99999999999999999999"}) {
    CHECK(ask("GET", target(fmt::format("/versions/{}", none))).status == 404);
  }
  CHECK(ask("GET", "/v1/admin/policies/none/versions?tenant_id=shop").status == 404);
  CHECK(ask("GET", "/v1/admin/policies/orders/versions?tenant_id=bank").status == 404);
  CHECK(faulty(ask("GET", "/v1/admin/policies/orders/versions")) == "?tenant_id");
  CHECK(faulty(ask("GET", target("/versions") + "&cursor=eA")) == "?cursor");
}

TEST_CASE_FIXTURE(Shop, "a rollback writes an old version as a new one") {
  const admin::FinishedAnswer back = ask("POST", target("/rollback"), R"({"version":1})", {{"if-match", "\"3\""}});
  CHECK(back.status == 200);
  CHECK(at(back, "/priority") == "1");
  CHECK(at(back, "/version") == "4");
  CHECK(execute("SELECT action, version FROM audit ORDER BY revision DESC LIMIT 1") == "rollback|4");
  CHECK(ask("POST", target("/rollback"), R"({"version":2})", {{"if-match", "\"3\""}}).status == 412);
  const admin::FinishedAnswer same = ask("POST", target("/rollback"), R"({"version":1})");
  CHECK(same.status == 200);
  CHECK(at(same, "/version") == "4");
  CHECK(faulty(ask("POST", target("/rollback"), R"({"version":9})")) == "/version");
  CHECK(faulty(ask("POST", target("/rollback"), R"({"version":0,"x":1})")) == "/version /x");
  CHECK(ask("POST", "/v1/admin/policies/none/rollback?tenant_id=shop", R"({"version":1})").status == 404);
}

TEST_CASE_FIXTURE(Shop, "a rollback goes by the rules of today") {
  REQUIRE(ask("PATCH", target(""), R"({"plan_id":null,"algorithm":"fixed_window","limit":9,"window":"1s"})").status ==
          200);
  REQUIRE(ask("DELETE", "/v1/admin/plans/pro?tenant_id=shop").status == 204);
  const admin::FinishedAnswer refused = ask("POST", target("/rollback"), R"({"version":3})");
  CHECK(refused.status == 422);
  CHECK(faulty(refused) == "/plan_id");
  // A plan that is gone comes back, and then the policy may.
  const admin::FinishedAnswer plan = ask("POST", "/v1/admin/plans/pro/rollback?tenant_id=shop", R"({"version":1})");
  CHECK(plan.status == 201);
  CHECK(at(plan, "/version") == "3");
  CHECK(faulty(ask("POST", "/v1/admin/plans/pro/rollback?tenant_id=shop", R"({"version":2})")) == "/version");
  CHECK(ask("POST", target("/rollback"), R"({"version":3})").status == 200);
  CHECK(audit::verify(*connect(database_options())).good());
}

TEST_CASE_FIXTURE(Shop, "an operator rolls a policy out, and back only who may configure") {
  const std::string operator_token = token("operator", R"("organization_id":"acme","tenant_ids":["shop"])");
  const admin::FinishedAnswer out =
      ask_as(operator_token, "POST", "/v1/admin/policies/orders/rollout", R"({"percent":12.5})");
  CHECK(out.status == 200);
  CHECK(at(out, "/rollout_percent") == "12.5");
  CHECK(at(out, "/priority") == "3");
  CHECK(at(out, "/version") == "4");
  CHECK(execute("SELECT action FROM audit ORDER BY revision DESC LIMIT 1") == "rollout");
  CHECK(ask_as(operator_token, "POST", target("/rollback"), R"({"version":1})").status == 403);
  CHECK(at(ask("POST", target("/rollout"), R"({"percent":100})"), "/rollout_percent") == "(absent)");
  CHECK(faulty(ask("POST", target("/rollout"), R"({"percent":101})")) == "/percent");
  CHECK(faulty(ask("POST", target("/rollout"), R"({"percent":0.001,"now":true})")) == "/percent /now");
  CHECK(faulty(ask("POST", target("/rollout"), "{}")) == "/percent");
  CHECK(ask_as(operator_token, "POST", "/v1/admin/policies/orders/rollout?tenant_id=bank", R"({"percent":1})").status ==
        404);
}

}  // namespace sluice::server::test
