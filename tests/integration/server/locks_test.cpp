// Who refers to an object locks its row: nobody can change or remove the object before the reference is committed.
#include <doctest/doctest.h>
#include <fmt/core.h>
#include <pqxx/pqxx>

#include "tests/integration/server/counter_rig.hpp"

namespace sluice::server::test {
namespace {

using namespace std::chrono_literals;

// A call that has to wait for a row is answered with 503 after 50 ms.
struct Impatient : CounterRig {
  Impatient() : CounterRig(50ms) {}

  // The status of a call while another transaction is about to change rows of a table.
  unsigned status_while_held(std::string_view table, std::string_view condition, std::string_view method,
                             std::string_view target, std::string_view body) {
    postgres::DatabaseOptions options = database_options();
    const auto holder = postgres::connect(options);
    postgres::Transaction tx(*holder);
    tx.enter(postgres::Scope::everything("holder"));
    REQUIRE(tx.exec_text(fmt::format("SELECT FROM {} WHERE {} FOR NO KEY UPDATE", table, condition)).size() == 1);
    return ask(method, target, body).status;
  }
  unsigned put_while_held(std::string_view table, std::string_view condition, std::string_view target,
                          std::string_view body) {
    return status_while_held(table, condition, "PUT", target, body);
  }
};

constexpr std::string_view kPro = "tenant_id = 'shop' AND id = 'pro'";
constexpr std::string_view kOrders = "tenant_id = 'shop' AND id = 'orders'";
constexpr std::string_view kPaid = "tenant_id = 'shop' AND id = 'paid'";
constexpr std::string_view kOfPlan =
    R"({"plan_id":"pro","limit_name":"burst","identity":{"subject":"u"},"set":{"limit":50}})";

std::string of_policy(std::string_view policy) {
  return fmt::format(R"({{"policy_id":"{}","limit_name":"burst","identity":{{"subject":"u"}},"set":{{"limit":50}}}})",
                     policy);
}

}  // namespace

TEST_CASE_FIXTURE(Impatient, "a policy waits for a change of its plan, and not for that of another plan") {
  const char* const target = "/v1/admin/policies/new?tenant_id=shop";
  const char* const body = R"({"scope":{"resource":"new"},"plan_id":"pro"})";
  CHECK(put_while_held("plans", kPro, target, body) == 503);
  CHECK(put_while_held("policies", kOrders, target, body) == 201);
}

TEST_CASE_FIXTURE(Impatient, "an override waits for a change of its policy and its policy's plan, or of its plan") {
  const char* const target = "/v1/admin/overrides/new?tenant_id=shop";
  CHECK(put_while_held("plans", kPro, target, kOfPlan) == 503);
  CHECK(put_while_held("plans", kPro, target, of_policy("paid")) == 503);
  CHECK(put_while_held("policies", kPaid, target, of_policy("paid")) == 503);
  CHECK(put_while_held("policies", kPaid, target, of_policy("orders")) == 201);
}

TEST_CASE_FIXTURE(Impatient,
                  "a bundle waits for changes of what its new objects refer to, though it leaves that as it is") {
  const std::string all = ask("GET", "/v1/admin/export?tenant_id=shop").body;
  const std::string head = all.substr(0, all.rfind('}'));
  const auto apply = [&](std::string_view table, std::string_view condition, std::string_view overrides) {
    return status_while_held(table, condition, "POST", "/v1/admin/apply",
                             fmt::format(R"({},"overrides":[{}]}})", head, overrides));
  };
  const auto named = [](std::string body) { return body.insert(1, R"("id":"new",)"); };
  CHECK(apply("plans", kPro, named(std::string(kOfPlan))) == 503);
  CHECK(apply("plans", kPro, named(of_policy("paid"))) == 503);
  CHECK(apply("policies", kPaid, named(of_policy("paid"))) == 503);
  CHECK(apply("policies", kPaid, named(of_policy("orders"))) == 200);
}

TEST_CASE_FIXTURE(Impatient, "whoever changes or removes an object waits for whoever is changing it") {
  const char* const pro = "/v1/admin/plans/pro?tenant_id=shop";
  CHECK(status_while_held("plans", kPro, "PATCH", pro, R"({"name":"Pro"})") == 503);
  CHECK(status_while_held("plans", kPro, "DELETE", pro, "") == 503);
  CHECK(status_while_held("plans", kPro, "PUT", pro, ask("GET", pro).body) == 503);
  CHECK(status_while_held("policies", kPaid, "POST", "/v1/admin/policies/paid/rollback?tenant_id=shop",
                          R"({"version":1})") == 503);
}

}  // namespace sluice::server::test
