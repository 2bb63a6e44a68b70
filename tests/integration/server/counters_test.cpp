// What somebody has spent, read and reset through the admin API.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <pqxx/pqxx>

#include "server/audit/verify.hpp"
#include "tests/integration/server/counter_rig.hpp"

namespace sluice::server::test {
namespace {

constexpr std::string_view kAnn = R"({"tenant_id":"shop","policy_id":"orders","identity":{"subject":"ann"}})";

}  // namespace

TEST_CASE_FIXTURE(CounterRig, "counters are read without being charged") {
  ask_agent("orders", "ann", 4);
  for (int i = 0; i < 2; ++i) {
    const admin::FinishedAnswer read = ask("POST", "/v1/admin/counters/read", kAnn);
    CHECK(read.status == 200);
    CHECK(at(read, "/limits/0/name") == "burst");
    CHECK(at(read, "/limits/0/algorithm") == "fixed_window");
    CHECK(at(read, "/limits/0/limit") == "10");
    CHECK(at(read, "/limits/0/remaining") == "6");
    CHECK(at(read, "/limits/0/used") == "4");
    CHECK(at(read, "/limits/1/name") == "daily");
    CHECK(at(read, "/limits/1/remaining") == "96");
    CHECK(at(read, "/identity/subject") == "ann");
  }
  const admin::FinishedAnswer plan =
      ask("POST", "/v1/admin/counters/read", R"({"tenant_id":"shop","plan_id":"pro","identity":{"subject":"ann"}})");
  CHECK(at(plan, "/limits/0/used") == "0");
}

TEST_CASE_FIXTURE(CounterRig, "a reset gives back what was spent, keeps the override, and is on record") {
  put_override("vip", R"("policy_id":"orders","limit_name":"burst","identity":{"subject":"ann"},"set":{"limit":50})");
  ask_agent("orders", "ann", 9);
  const admin::FinishedAnswer reset = ask("POST", "/v1/admin/counters/reset", kAnn);
  CHECK(reset.status == 200);
  CHECK(at(reset, "/published") == "true");
  const limiter::Outcome after = ask_agent("orders", "ann", 0);
  CHECK(after.limits[0].limit == 50);
  CHECK(after.limits[0].remaining == 50);
  CHECK(after.limits[1].remaining == 100);
  CHECK(execute("SELECT action, kind, tenant_id, after FROM audit WHERE kind = 'counter'") ==
        R"(reset|counter|shop|{"tenant_id":"shop","policy_id":"orders","identity":{"subject":"ann"}})");
  const auto connection = postgres::connect(database_options());
  const audit::VerifyReport report = audit::verify(*connection);
  CHECK(fmt::format("{}", fmt::join(report.disagreements, "\n")) == "");
  CHECK(report.good());
}

TEST_CASE_FIXTURE(CounterRig, "a reset that Redis could not be told of is made up for") {
  ask_agent("orders", "ann", 9);
  redis.pause();
  CHECK(at(ask("POST", "/v1/admin/counters/reset", kAnn), "/published") == "false");
  const admin::FinishedAnswer read = ask("POST", "/v1/admin/counters/read", kAnn);
  CHECK(read.status == 503);
  CHECK(header(read, "Retry-After") == "1");
  redis.resume();
  CHECK(eventually([&] { return count(execute("SELECT count(*) FROM outbox")) == 0; }));
  CHECK(ask_agent("orders", "ann", 0).limits[0].remaining == 10);
}

TEST_CASE_FIXTURE(CounterRig, "an override and a reset of one counter that wait together are both carried out") {
  ask_agent("orders", "ann", 9);
  redis.pause();
  put_override("vip", R"("policy_id":"orders","limit_name":"burst","identity":{"subject":"ann"},"set":{"limit":50})");
  REQUIRE(at(ask("POST", "/v1/admin/counters/reset", kAnn), "/published") == "false");
  redis.resume();
  CHECK(eventually([&] { return count(execute("SELECT count(*) FROM outbox")) == 0; }));
  const limiter::Outcome after = ask_agent("orders", "ann", 0);
  CHECK(after.limits[0].limit == 50);
  CHECK(after.limits[0].remaining == 50);
}

TEST_CASE_FIXTURE(CounterRig, "a reset that waits for Redis does not make an override count as unpublished") {
  put_override("vip", R"("policy_id":"orders","limit_name":"burst","identity":{"subject":"ann"},"set":{"limit":50})");
  redis.pause();
  REQUIRE(at(ask("POST", "/v1/admin/counters/reset", kAnn), "/published") == "false");
  CHECK(at(get_override("vip"), "/published") == "true");
  CHECK(each(ask("GET", "/v1/admin/overrides?tenant_id=shop"), "published") == "true");
  redis.resume();
}

TEST_CASE_FIXTURE(CounterRig, "a limit of its own dimensions is read and reset where they are said") {
  const admin::FinishedAnswer made =
      ask("PUT", "/v1/admin/policies/wide?tenant_id=shop", R"({"scope":{"resource":"wide"},"key_by":[],
    "limits":[{"name":"all","algorithm":"fixed_window","limit":100,"window":"1h"},
              {"name":"each","algorithm":"sliding_window_log","limit":10,"window":"1h","key_by":["subject"]},
              {"name":"open","algorithm":"concurrency","limit":5,"lease_ttl":"1h","key_by":["subject"]}]})");
  REQUIRE(made.status == 201);
  ask_agent("wide", "ann", 3);
  ask_agent("wide", "bob", 2);
  const std::string ann = R"({"tenant_id":"shop","policy_id":"wide","identity":{"subject":"ann"}})";
  const admin::FinishedAnswer read = ask("POST", "/v1/admin/counters/read", ann);
  CHECK(at(read, "/limits/0/used") == "5");
  CHECK(at(read, "/limits/1/used") == "3");
  CHECK(at(read, "/limits/2/used") == "3");
  const admin::FinishedAnswer all =
      ask("POST", "/v1/admin/counters/read", R"({"tenant_id":"shop","policy_id":"wide","identity":{}})");
  CHECK(at(all, "/limits/0/name") == "all");
  CHECK(at(all, "/limits/1") == "(absent)");
  CHECK(at(ask("POST", "/v1/admin/counters/reset", ann), "/published") == "true");
  CHECK(ask_agent("wide", "ann", 0).limits[1].remaining == 10);
  CHECK(ask_agent("wide", "ann", 0).limits[2].remaining == 5);
  CHECK(ask_agent("wide", "bob", 0).limits[0].remaining == 100);
  CHECK(ask_agent("wide", "bob", 0).limits[1].remaining == 8);
}

TEST_CASE_FIXTURE(CounterRig, "every fault of a question for counters is named at once") {
  const auto read = [this](std::string_view body) { return ask("POST", "/v1/admin/counters/read", body); };
  CHECK(faulty(read(R"({"plan_id":1,"policy_id":"orders","identity":{"subjct":"ann"},"x":1})")) ==
        "/plan_id /tenant_id /identity/subjct /x");
  CHECK(faulty(read(R"({"tenant_id":"shop","policy_id":"orders","identity":{"user":"ann"}})")) ==
        "/identity/subject /identity/user");
  CHECK(read(R"({"tenant_id":"shop","policy_id":"ordres","identity":{}})").status == 404);
  CHECK(read(R"({"tenant_id":"shap","policy_id":"orders","identity":{}})").status == 404);
  CHECK(read(R"({"tenant_id":"shop","policy_id":"orders","identity":{"subject":null}})").status == 200);
  CHECK(read("[]").status == 400);
}

TEST_CASE_FIXTURE(CounterRig, "an empty id names no policy, plan or tenant") {
  const auto read = [this](std::string_view body) { return ask("POST", "/v1/admin/counters/read", body); };
  CHECK(faulty(read(R"({"tenant_id":"","policy_id":"","identity":{"subject":"ann"}})")) == "/tenant_id /policy_id");
  CHECK(faulty(read(R"({"tenant_id":"shop","plan_id":"","identity":{"subject":"ann"}})")) == "/plan_id");
  CHECK(faulty(read(R"({"tenant_id":"shop","policy_id":"orders","plan_id":"","identity":{"subject":"ann"}})")) ==
        "/plan_id");
  CHECK(read(kAnn).status == 200);
}

TEST_CASE_FIXTURE(CounterRig, "other tenants' counters are not there, and to reset takes more than to read") {
  const std::string bank = token("org_admin", R"("organization_id":"acme","tenant_ids":["bank"])");
  CHECK(ask_as(bank, "POST", "/v1/admin/counters/read", kAnn).status == 404);
  CHECK(ask_as(bank, "POST", "/v1/admin/counters/reset", kAnn).status == 404);
  const std::string reading = token("auditor", R"("organization_id":"acme")");
  CHECK(ask_as(reading, "POST", "/v1/admin/counters/read", kAnn).status == 200);
  CHECK(ask_as(reading, "POST", "/v1/admin/counters/reset", kAnn).status == 403);
  const std::string operating = token("operator", R"("organization_id":"acme","tenant_ids":["shop"])");
  CHECK(ask_as(operating, "POST", "/v1/admin/counters/reset", kAnn).status == 200);
}

}  // namespace sluice::server::test
