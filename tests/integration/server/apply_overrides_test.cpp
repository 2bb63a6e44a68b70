// Overrides in bundles: as the agents' next decision finds them.
#include <doctest/doctest.h>
#include <fmt/core.h>

#include "tests/integration/server/counter_rig.hpp"

namespace sluice::server::test {
namespace {

struct Exported : CounterRig {
  Exported() {
    const std::string text = ask("GET", "/v1/admin/export?tenant_id=shop").body;
    head = text.substr(0, text.rfind('}'));
  }
  // The tenant's own bundle, with these overrides.
  admin::FinishedAnswer apply(std::string_view overrides, std::string_view query = "") {
    return ask("POST", fmt::format("/v1/admin/apply{}", query),
               fmt::format(R"({},"overrides":[{}]}})", head, overrides));
  }
  std::string head;
};

std::string vip(std::string_view id, int limit, std::string_view more = "") {
  return fmt::format(
      R"({{"id":"{}","policy_id":"orders","limit_name":"burst","identity":{{"subject":"user:42"}},"set":{{"limit":{}}}{}}})",
      id, limit, more);
}

}  // namespace

TEST_CASE_FIXTURE(Exported, "overrides of a bundle are in force on the next decision, and the answer says so") {
  CHECK(burst("orders", "user:42") == 10);
  const admin::FinishedAnswer made = apply(vip("vip", 500));
  REQUIRE_MESSAGE(made.status == 200, made.body);
  CHECK(at(made, "/changes/0/kind") == "override");
  CHECK(at(made, "/changes/0/action") == "create");
  CHECK(at(made, "/published") == "true");
  CHECK(burst("orders", "user:42") == 500);
  const admin::FinishedAnswer same = apply(vip("vip", 500));
  CHECK(at(same, "/changes") == "[]");
  CHECK(at(same, "/published") == "(absent)");
  CHECK(at(apply(vip("vip", 700)), "/changes/0/diff/set/limit") == "700");
  CHECK(burst("orders", "user:42") == 700);
}

TEST_CASE_FIXTURE(Exported, "an export with overrides, applied again with prune, changes nothing") {
  REQUIRE(
      put_override("vip", R"("policy_id":"orders","limit_name":"burst","identity":{"subject":"u"},"set":{"limit":50})")
          .status == 201);
  const admin::FinishedAnswer again =
      ask("POST", "/v1/admin/apply?prune=true", ask("GET", "/v1/admin/export?include=overrides").body);
  REQUIRE_MESSAGE(again.status == 200, again.body);
  CHECK(at(again, "/changes") == "[]");
}

TEST_CASE_FIXTURE(Exported, "overrides are pruned only where the bundle has a list of them") {
  REQUIRE(apply(vip("vip", 500)).status == 200);
  CHECK(at(ask("POST", "/v1/admin/apply?prune=true", head + "}"), "/changes") == "[]");
  CHECK(burst("orders", "user:42") == 500);
  const admin::FinishedAnswer replaced = apply(vip("other", 300), "?prune=true");
  REQUIRE_MESSAGE(replaced.status == 200, replaced.body);
  CHECK(at(replaced, "/changes/0/action") == "delete");
  CHECK(at(replaced, "/changes/1/action") == "create");
  CHECK(burst("orders", "user:42") == 300);
}

TEST_CASE_FIXTURE(Exported,
                  "a second override for the same identity is refused, also beside one that is not in the bundle") {
  REQUIRE(apply(vip("vip", 500)).status == 200);
  const admin::FinishedAnswer answer = apply(vip("other", 300));
  CHECK(answer.status == 422);
  CHECK(faulty(answer) == "/overrides");
  CHECK(burst("orders", "user:42") == 500);
}

TEST_CASE_FIXTURE(Exported, "an override of a bundle is not called as the call that clears") {
  const admin::FinishedAnswer answer = apply(vip("clear", 500));
  CHECK(answer.status == 422);
  CHECK(faulty(answer) == "/overrides/0/id");
}

TEST_CASE_FIXTURE(Exported, "an override that has ended is left out") {
  const admin::FinishedAnswer answer = apply(vip("old", 500, R"(,"expires_at":"2020-01-01T00:00:00Z")"));
  CHECK(answer.status == 200);
  CHECK(at(answer, "/changes") == "[]");
}

TEST_CASE_FIXTURE(Exported, "a policy is not removed under its override, nor changed so that the override breaks") {
  REQUIRE(apply(vip("vip", 500)).status == 200);
  const admin::FinishedAnswer removed =
      ask("POST", "/v1/admin/apply?prune=true", R"({"format":"sluice/v1","tenants":[{"id":"shop"}],"policies":[]})");
  CHECK(removed.status == 422);
  CHECK(removed.body.find("override vip uses it") != std::string::npos);
  const admin::FinishedAnswer changed = ask(
      "POST", "/v1/admin/apply",
      R"({"format":"sluice/v1","tenants":[{"id":"shop"}],"policies":[{"id":"orders","scope":{"resource":"GET:/orders"},"limits":[{"name":"else","algorithm":"fixed_window","limit":1,"window":"1s"}]}]})");
  CHECK(changed.status == 422);
  CHECK(changed.body.find("override vip of tenant shop, which is not in the bundle, would become invalid") !=
        std::string::npos);
  CHECK(burst("orders", "user:42") == 500);
}

TEST_CASE_FIXTURE(AdminRig, "a server that was told of no Redis applies no overrides") {
  found_acme();
  const admin::FinishedAnswer answer = ask(
      "POST", "/v1/admin/apply",
      R"({"format":"sluice/v1","tenants":[{"id":"shop"}],"plans":[{"id":"p","key_by":["subject"],"limits":[{"name":"burst","algorithm":"fixed_window","limit":1,"window":"1s"}]}],"overrides":[{"id":"o","plan_id":"p","limit_name":"burst","identity":{"subject":"u"},"set":{"limit":2}}]})");
  CHECK(answer.status == 503);
}

// A dimension that moves from key_by to the key_by of the only limit changes the counter keys, and an override for both
// dimensions stays valid: the overrides must be written under other keys.
TEST_CASE_FIXTURE(Exported, "a policy and a plan that change among many others take their overrides along") {
  const auto write = [this](std::string_view key_by, std::string_view key_by_of_limit, int others) {
    const std::string limits = fmt::format(
        R"("key_by":{},"limits":[{{"name":"burst","algorithm":"fixed_window","limit":20,"window":"1m","key_by":{}}}])",
        key_by, key_by_of_limit);
    std::string plans;
    for (int i = 0; i < others; ++i) {
      plans += fmt::format(
          R"(,{{"id":"p{}","limits":[{{"name":"n","algorithm":"fixed_window","limit":1,"window":"1s"}}]}})", i);
    }
    const admin::FinishedAnswer answer =
        ask("POST", "/v1/admin/apply",
            fmt::format(R"({{"format":"sluice/v1","tenants":[{{"id":"shop"}}],"plans":[{{"id":"wide",{0}}}{1}],)"
                        R"("policies":[{{"id":"wide","scope":{{"resource":"wide"}},{0}}}]}})",
                        limits, plans));
    REQUIRE_MESSAGE(answer.status == 200, answer.body);
  };
  write(R"(["subject","user"])", "[]", 0);
  const auto set = [this](std::string_view id, std::string_view of, int limit) {
    return put_override(
        id, fmt::format(
                R"("{}":"wide","limit_name":"burst","identity":{{"subject":"ann","user":"ann"}},"set":{{"limit":{}}})",
                of, limit));
  };
  REQUIRE(set("of-plan", "plan_id", 77).status == 201);
  REQUIRE(set("of-policy", "policy_id", 88).status == 201);
  write(R"(["subject"])", R"(["user"])", 30);
  CHECK(burst("plan:wide", "ann") == 77);
  CHECK(burst("wide", "ann") == 88);
  CHECK(burst("wide", "bob") == 20);
}

TEST_CASE_FIXTURE(Exported, "a policy that moves to a plan among many other changes gets the plan's overrides") {
  REQUIRE(
      put_override("gold", R"("plan_id":"pro","limit_name":"burst","identity":{"subject":"ann"},"set":{"limit":77})")
          .status == 201);
  std::string policies;
  for (int i = 0; i < 30; ++i) {
    policies += fmt::format(
        R"(,{{"id":"p{0}","scope":{{"resource":"r{0}"}},"limits":[{{"name":"n","algorithm":"fixed_window","limit":1,"window":"1s"}}]}})",
        i);
  }
  const admin::FinishedAnswer answer = ask(
      "POST", "/v1/admin/apply",
      fmt::format(
          R"({{"format":"sluice/v1","tenants":[{{"id":"shop"}}],"plans":[{{"id":"pro","key_by":["subject"],"limits":[{}]}}],"policies":[{{"id":"orders","scope":{{"resource":"orders"}},"key_by":["subject"],"plan_id":"pro"}}{}]}})",
          R"({"name":"burst","algorithm":"fixed_window","limit":10,"window":"1m"},{"name":"daily","algorithm":"quota","limit":100,"period":"day"})",
          policies));
  REQUIRE_MESSAGE(answer.status == 200, answer.body);
  CHECK(burst("orders", "ann") == 77);
}

}  // namespace sluice::server::test
