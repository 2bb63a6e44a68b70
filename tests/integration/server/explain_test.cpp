// POST /v1/admin/explain: who would judge a request.
#include <doctest/doctest.h>
#include <fmt/core.h>

#include "tests/integration/server/admin_rig.hpp"

namespace sluice::server::test {
namespace {

constexpr std::string_view kOne = R"("limits":[{"algorithm":"fixed_window","limit":5,"window":"1s"}])";

struct Shop : AdminRig {
  Shop() {
    found_acme();
    policy("all", "{}");
    policy("orders", R"({"resource":"GET:/orders"})");
  }
  void policy(std::string_view id, std::string_view scope, std::string_view more = "") {
    const admin::FinishedAnswer made = ask("PUT", fmt::format("/v1/admin/policies/{}?tenant_id=shop", id),
                                           fmt::format(R"({{"scope":{},{}{}}})", scope, kOne, more));
    if (made.status >= 300) throw std::runtime_error(made.body);
  }
  void tenant(std::string_view patch) { REQUIRE(ask("PATCH", "/v1/admin/tenants/shop", patch).status == 200); }
  admin::FinishedAnswer explain(std::string_view request, std::string_view more = "") {
    return ask("POST", "/v1/admin/explain", fmt::format(R"({{"tenant_id":"shop",{}"request":{}}})", more, request));
  }
};

constexpr std::string_view kOrders = R"({"subject":"user:42","resource":"GET:/orders"})";

}  // namespace

TEST_CASE_FIXTURE(Shop, "an explanation names the winner, its counter, and why each other candidate lost") {
  const admin::FinishedAnswer answer = explain(kOrders);
  REQUIRE(answer.status == 200);
  CHECK(at(answer, "/reason") == "judged");
  CHECK(at(answer, "/allowed") == "null");
  CHECK(at(answer, "/policy_id") == "orders");
  CHECK(at(answer, "/mode") == "enforce");
  CHECK(at(answer, "/shadow") == "false");
  CHECK(at(answer, "/counter_keys/0") == "sl:{shop|resource=GET%3A%2Forders|subject=user%3A42}:p=orders");
  CHECK(at(answer, "/candidates/0/policy_id") == "orders");
  CHECK(at(answer, "/candidates/0/outcome") == "decides");
  CHECK(at(answer, "/candidates/1/policy_id") == "all");
  CHECK(at(answer, "/candidates/1/outcome") == "outranked");
  CHECK(at(answer, "/candidates/1/why").find("orders is more specific") != std::string::npos);
}

TEST_CASE_FIXTURE(Shop, "an explanation is of the state there is, not of one that was") {
  CHECK(at(explain(kOrders), "/policy_id") == "orders");
  policy("orders", R"({"resource":"GET:/orders"})", R"(,"enabled":false)");
  const admin::FinishedAnswer answer = explain(kOrders);
  CHECK(at(answer, "/policy_id") == "all");
  CHECK(at(answer, "/candidates/0/outcome") == "disabled");
  CHECK(at(answer, "/revision") == execute("SELECT revision FROM revision"));
}

TEST_CASE_FIXTURE(Shop, "an explanation shows a shadow beside the deciding policy, and what is off") {
  policy("trial", R"({"user":"*","resource":"GET:/orders"})", R"(,"mode":"shadow")");
  const admin::FinishedAnswer beside = explain(R"({"user":"ann","resource":"GET:/orders"})");
  CHECK(at(beside, "/policy_id") == "orders");
  CHECK(at(beside, "/shadow_policy_id") == "trial");
  CHECK(at(beside, "/candidates/0/outcome") == "shadow_judged");
  tenant(R"({"mode":"shadow"})");
  const admin::FinishedAnswer shadow = explain(kOrders);
  CHECK(at(shadow, "/reason") == "shadow");
  CHECK(at(shadow, "/allowed") == "true");
  CHECK(at(shadow, "/shadow") == "true");
  tenant(R"({"mode":"off"})");
  const admin::FinishedAnswer off = explain(kOrders);
  CHECK(at(off, "/reason") == "mode_off");
  CHECK(at(off, "/mode") == "off");
  CHECK(at(off, "/counter_keys") == "(absent)");
}

TEST_CASE_FIXTURE(Shop, "where no policy applies the tenant's default answers") {
  for (const std::string_view id : {"all", "orders"}) {
    REQUIRE(ask("DELETE", fmt::format("/v1/admin/policies/{}?tenant_id=shop", id)).status == 204);
  }
  CHECK(at(explain(kOrders), "/reason") == "no_policy");
  CHECK(at(explain(kOrders), "/allowed") == "true");
  tenant(R"({"default":"deny"})");
  CHECK(at(explain(kOrders), "/allowed") == "false");
  CHECK(at(explain(kOrders), "/candidates") == "[]");
}

TEST_CASE_FIXTURE(Shop, "a call by plan is explained, one by a plan that is not there too") {
  REQUIRE(ask("PUT", "/v1/admin/plans/pro?tenant_id=shop", fmt::format("{{{}}}", kOne)).status == 201);
  const admin::FinishedAnswer known = explain(R"({"plan_id":"pro","subject":"u"})");
  CHECK(at(known, "/plan_id") == "pro");
  CHECK(at(known, "/policy_id") == "(absent)");
  CHECK(at(explain(R"({"plan_id":"max","subject":"u"})"), "/reason") == "unknown_plan");
}

TEST_CASE_FIXTURE(Shop, "a dimension that the counter requires and the request lacks is named") {
  policy("strict", R"({"service":"pay"})", R"(,"key_by":["user"],"require_key_by":true)");
  const admin::FinishedAnswer answer = explain(R"({"service":"pay"})");
  CHECK(at(answer, "/reason") == "missing_key");
  CHECK(at(answer, "/missing") == "user");
  CHECK(at(answer, "/allowed") == "false");
}

TEST_CASE_FIXTURE(Shop, "policies of an API key are explained for the key that is named") {
  REQUIRE(ask("PUT", "/v1/admin/keys/k1", R"({"tenant_id":"shop"})").status == 201);
  policy("by-key", R"({"api_key":"k1","resource":"*"})");
  CHECK(at(explain(kOrders), "/policy_id") == "orders");
  CHECK(at(explain(kOrders, R"("key_id":"k1",)"), "/policy_id") == "by-key");
  CHECK(faulty(explain(kOrders, R"("key_id":"k2",)")) == "/key_id");
}

TEST_CASE_FIXTURE(Shop, "what is no check is refused, with places in the body") {
  CHECK(faulty(explain(R"({"subjekt":"u"})")).starts_with("/request"));
  CHECK(explain(R"({"subjekt":"u"})").status == 400);
  CHECK(explain(R"({"subject":"u","cost":-1})").status == 422);
  CHECK(faulty(ask("POST", "/v1/admin/explain", R"({"tenant_id":"shop"})")) == "/request");
  CHECK(faulty(ask("POST", "/v1/admin/explain", R"({"tenant_id":"","key_id":"","request":{"subject":"u"}})")) ==
        "/tenant_id /key_id");
  CHECK(faulty(ask("POST", "/v1/admin/explain", R"({"request":{"subject":"u"}})")) == "/tenant_id");
  CHECK(faulty(ask("POST", "/v1/admin/explain", R"({"tenant_id":"shop","request":{"subject":"u"},"x":1})")) == "/x");
}

TEST_CASE_FIXTURE(Shop, "a tenant out of scope is as one that is not there") {
  const std::string other = token("auditor", R"("organization_id":"other")");
  const std::string body = fmt::format(R"({{"tenant_id":"shop","request":{}}})", kOrders);
  REQUIRE(explain(kOrders).status == 200);  // and so it is compiled
  CHECK(ask_as(other, "POST", "/v1/admin/explain", body).status == 404);
  CHECK(ask("POST", "/v1/admin/explain", R"({"tenant_id":"none","request":{"subject":"u"}})").status == 404);
  const std::string auditor = token("auditor", R"("organization_id":"acme","tenant_ids":["shop"])");
  const admin::FinishedAnswer implied =
      ask_as(auditor, "POST", "/v1/admin/explain", fmt::format(R"({{"request":{}}})", kOrders));
  CHECK(at(implied, "/policy_id") == "orders");
}

}  // namespace sluice::server::test
