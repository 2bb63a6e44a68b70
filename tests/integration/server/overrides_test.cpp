// Overrides through the admin API, as the agents' next decision finds them.
#include <doctest/doctest.h>
#include <fmt/core.h>

#include "tests/integration/server/counter_rig.hpp"

namespace sluice::server::test {
namespace {

constexpr std::string_view kVip =
    R"("policy_id":"orders","limit_name":"burst","identity":{"subject":"user:42"},"set":{"limit":500})";

std::string for_plan(std::string_view subject, int limit) {
  return fmt::format(R"("plan_id":"pro","limit_name":"burst","identity":{{"subject":"{}"}},"set":{{"limit":{}}})",
                     subject, limit);
}

}  // namespace

TEST_CASE_FIXTURE(CounterRig, "an override is in force on the agent's next decision, and its answer says so") {
  CHECK(burst("orders", "user:42") == 10);
  const admin::FinishedAnswer made = put_override("vip", kVip);
  CHECK(made.status == 201);
  CHECK(at(made, "/published") == "true");
  CHECK(at(made, "/set/limit") == "500");
  CHECK(at(made, "/version") == "1");
  CHECK(burst("orders", "user:42") == 500);
  CHECK(burst("orders", "user:43") == 10);
  const admin::FinishedAnswer read = get_override("vip");
  CHECK(at(read, "/published") == "true");
  CHECK(at(read, "/identity/subject") == "user:42");
  CHECK(each(ask("GET", "/v1/admin/overrides?tenant_id=shop&policy_id=orders"), "published") == "true");
  CHECK(each(ask("GET", "/v1/admin/overrides?tenant_id=shop&plan_id=pro"), "id") == "");
  CHECK(count(execute("SELECT count(*) FROM outbox")) == 0);
}

TEST_CASE_FIXTURE(CounterRig, "an override that is changed or removed is so for the next decision") {
  put_override("vip", kVip);
  const std::string target = "/v1/admin/overrides/vip?tenant_id=shop";
  const admin::FinishedAnswer patched = ask("PATCH", target, R"({"set":{"limit":700}})");
  CHECK(patched.status == 200);
  CHECK(at(patched, "/published") == "true");
  CHECK(burst("orders", "user:42") == 700);
  const admin::FinishedAnswer same = ask("PATCH", target, R"({"set":{"limit":700}})");
  CHECK(at(same, "/version") == "2");
  CHECK(at(same, "/published") == "true");
  const admin::FinishedAnswer removed = ask("DELETE", target);
  CHECK(removed.status == 200);
  CHECK(at(removed, "/published") == "true");
  CHECK(burst("orders", "user:42") == 10);
  CHECK(get_override("vip").status == 404);
}

TEST_CASE_FIXTURE(CounterRig,
                  "a plan's override is for calls by plan and for every policy that counts by the same dimensions") {
  CHECK(put_override("gold", for_plan("ann", 77)).status == 201);
  CHECK(burst("plan:pro", "ann") == 77);
  CHECK(burst("paid", "ann") == 77);
  CHECK(burst("free", "ann") == 10);
  CHECK(burst("orders", "ann") == 10);
}

TEST_CASE_FIXTURE(CounterRig, "a policy that moves to a plan has the plan's overrides, and loses them when it leaves") {
  put_override("gold", for_plan("ann", 77));
  const std::string target = "/v1/admin/policies/orders?tenant_id=shop";
  CHECK(ask("PATCH", target, R"({"plan_id":"pro","limits":null})").status == 200);
  CHECK(burst("orders", "ann") == 77);
  CHECK(ask("PATCH", target, R"({"key_by":"user"})").status == 200);
  CHECK(burst("orders", "ann") == 10);
  CHECK(ask("PATCH", target, R"({"key_by":"subject"})").status == 200);
  CHECK(burst("orders", "ann") == 77);
  const admin::FinishedAnswer gone = ask("DELETE", target);
  CHECK(gone.status == 204);
  CHECK(redis.command({"EXISTS", "sl:{shop|subject=ann}:p=orders"}) == "0");
}

TEST_CASE_FIXTURE(CounterRig, "overrides of one counter are written together, and one removed leaves the other") {
  put_override("vip", kVip);
  put_override("vip-daily",
               R"("policy_id":"orders","limit_name":"daily","identity":{"subject":"user:42"},"set":{"limit":9000})");
  const limiter::Outcome both = ask_agent("orders", "user:42", 0);
  CHECK(both.limits[0].limit == 500);
  CHECK(both.limits[1].limit == 9000);
  ask("DELETE", "/v1/admin/overrides/vip?tenant_id=shop");
  const limiter::Outcome one = ask_agent("orders", "user:42", 0);
  CHECK(one.limits[0].limit == 10);
  CHECK(one.limits[1].limit == 9000);
}

TEST_CASE_FIXTURE(CounterRig, "clear removes what belongs to a policy, a plan or the tenant, as one revision") {
  put_override("vip", kVip);
  put_override("gold", for_plan("ann", 77));
  put_override("silver", for_plan("bob", 55));
  const admin::FinishedAnswer plan =
      ask("POST", "/v1/admin/overrides/clear", R"({"tenant_id":"shop","plan_id":"pro"})");
  CHECK(plan.status == 200);
  CHECK(at(plan, "/cleared") == "2");
  CHECK(at(plan, "/published") == "true");
  CHECK(burst("paid", "ann") == 10);
  CHECK(burst("plan:pro", "bob") == 10);
  CHECK(burst("orders", "user:42") == 500);
  CHECK(count(execute("SELECT count(DISTINCT revision) FROM changes WHERE removed")) == 1);
  CHECK(at(ask("POST", "/v1/admin/overrides/clear", R"({"tenant_id":"shop"})"), "/cleared") == "1");
  CHECK(burst("orders", "user:42") == 10);
  CHECK(at(ask("POST", "/v1/admin/overrides/clear", R"({"tenant_id":"shop"})"), "/cleared") == "0");
  CHECK(ask("POST", "/v1/admin/overrides/clear", R"({"tenant_id":"shop","policy_id":"ordres"})").status == 404);
  CHECK(faulty(ask("POST", "/v1/admin/overrides/clear", R"({"policy_id":"a","plan_id":"b","x":1})")) ==
        "/tenant_id /plan_id /x");
}

TEST_CASE_FIXTURE(CounterRig, "clear of one policy leaves the overrides of other policies and of plans") {
  put_override("vip", kVip);
  put_override("also-vip",
               R"("policy_id":"orders","limit_name":"burst","identity":{"subject":"user:43"},"set":{"limit":600})");
  put_override("of-paid",
               R"("policy_id":"paid","limit_name":"daily","identity":{"subject":"user:42"},"set":{"limit":9000})");
  put_override("gold", for_plan("ann", 77));
  const admin::FinishedAnswer cleared =
      ask("POST", "/v1/admin/overrides/clear", R"({"tenant_id":"shop","policy_id":"orders"})");
  CHECK(cleared.status == 200);
  CHECK(at(cleared, "/cleared") == "2");
  CHECK(each(ask("GET", "/v1/admin/overrides?tenant_id=shop"), "id") == "gold of-paid");
  CHECK(burst("orders", "user:42") == 10);
  CHECK(burst("orders", "user:43") == 10);
  CHECK(ask_agent("paid", "user:42", 0).limits[1].limit == 9000);
  CHECK(burst("paid", "ann") == 77);
}

TEST_CASE_FIXTURE(CounterRig, "clear of a policy or plan whose id is empty removes nothing") {
  put_override("vip", kVip);
  const auto clear = [this](std::string_view body) { return ask("POST", "/v1/admin/overrides/clear", body); };
  CHECK(faulty(clear(R"({"tenant_id":"shop","policy_id":""})")) == "/policy_id");
  CHECK(faulty(clear(R"({"tenant_id":"shop","plan_id":""})")) == "/plan_id");
  CHECK(faulty(clear(R"({"tenant_id":""})")) == "/tenant_id");
  CHECK(burst("orders", "user:42") == 500);
}

TEST_CASE_FIXTURE(CounterRig, "no override is called as the call that clears") {
  const admin::FinishedAnswer made =
      ask("POST", "/v1/admin/overrides", fmt::format(R"({{"tenant_id":"shop","id":"clear",{}}})", kVip));
  CHECK(made.status == 422);
  CHECK(faulty(made) == "/id");
}

TEST_CASE_FIXTURE(CounterRig, "a time to live becomes an end when it is written") {
  const admin::FinishedAnswer made = put_override("vip", fmt::format(R"({},"ttl":"24h")", kVip));
  CHECK(made.status == 201);
  CHECK(at(made, "/ttl") == "(absent)");
  CHECK(at(made, "/expires_at").starts_with("20"));
  CHECK(count(redis.command({"PTTL", "sl:{shop|subject=user%3A42}:p=orders"})) > 86'000'000);
  const std::string target = "/v1/admin/overrides/vip?tenant_id=shop";
  CHECK(at(ask("PATCH", target, R"({"expires_at":null})"), "/expires_at") == "(absent)");
  CHECK(redis.command({"PTTL", "sl:{shop|subject=user%3A42}:p=orders"}) == "-1");
}

TEST_CASE_FIXTURE(CounterRig, "every fault of an override is named at once") {
  const admin::FinishedAnswer faults = put_override(
      "vip",
      R"("policy_id":"orders","limit_name":"brust","identity":{"user":"x"},"set":{"limit":1},"ttl":"soon","colour":1)");
  CHECK(faults.status == 422);
  CHECK(faulty(faults).find("/ttl") != std::string::npos);
  CHECK(faulty(faults).find("/limit_name") != std::string::npos);
  CHECK(faulty(faults).find("/colour") != std::string::npos);
  CHECK(faulty(put_override("vip", fmt::format(R"({},"ttl":"1h","expires_at":"2999-01-01T00:00:00Z")", kVip))) ==
        "/ttl");
  CHECK(faulty(put_override("vip", fmt::format(R"({},"expires_at":"2020-01-01T00:00:00Z")", kVip))) == "/expires_at");
  CHECK(faulty(put_override("vip", fmt::format(R"({},"ttl":"0s")", kVip))) == "/ttl");
  CHECK(put_override("vip", R"("policy_id":"ordres","limit_name":"burst","identity":{"subject":"x"},"set":{"limit":1})")
            .status == 422);
  CHECK(put_override("vip",
                     R"("policy_id":"orders","limit_name":"burst","identity":{"subject":"a\u0000b"},"set":{"limit":1})")
            .status == 422);
}

TEST_CASE_FIXTURE(CounterRig,
                  "a second override of the same limit for the same identity is refused, naming the first") {
  put_override("vip", kVip);
  const admin::FinishedAnswer second = put_override("vip2", kVip);
  CHECK(second.status == 409);
  CHECK(second.body.find("override \\\"vip\\\"") != std::string::npos);
  CHECK(put_override("vip2", for_plan("user:42", 3)).status == 201);
}

TEST_CASE_FIXTURE(CounterRig, "what an override belongs to cannot be changed so that it would not fit any more") {
  put_override("vip", kVip);
  const std::string target = "/v1/admin/policies/orders?tenant_id=shop";
  CHECK(ask("PATCH", target, R"({"key_by":["user"]})").status == 422);
  CHECK(ask("PATCH", target, R"({"limits":[{"name":"other","algorithm":"fixed_window","limit":10,"window":"1m"}]})")
            .status == 422);
  const admin::FinishedAnswer removed = ask("DELETE", target);
  CHECK(removed.status == 409);
  CHECK(removed.body.find("override vip of tenant shop uses it") != std::string::npos);
  CHECK(burst("orders", "user:42") == 500);
}

TEST_CASE_FIXTURE(CounterRig, "an override that has ended is removed, and its end is on record") {
  clock.advance(Micros(SystemClock().now_us() - clock.now_us()));  // the rig's clock stood still while it was set up
  put_override("vip", fmt::format(R"({},"ttl":"2s")", kVip));
  const auto given = burst("orders", "user:42");
  // On a busy machine the override may end during the burst. Then the plan's own limit is charged for the rest.
  const bool in_time = SystemClock().now_us() < clock.now_us() + 2'000'000;
  if (in_time) CHECK(given == 500);
  CHECK(eventually([&] { return get_override("vip").status == 404; }));
  const auto after = burst("orders", "user:42");
  CHECK((in_time ? after == 10 : after <= 10));
  CHECK(execute("SELECT action, actor_id, actor_role FROM audit WHERE kind = 'override' AND after IS NULL") ==
        "expire|sluice-server|system");
  CHECK(put_override("vip", kVip).status == 201);
}

TEST_CASE_FIXTURE(CounterRig, "other tenants' overrides are not there, and roles may what the table says") {
  put_override("vip", kVip);
  const std::string bank = token("org_admin", R"("organization_id":"acme","tenant_ids":["bank"])");
  CHECK(ask_as(bank, "GET", "/v1/admin/overrides/vip?tenant_id=shop").status == 404);
  CHECK(ask_as(bank, "DELETE", "/v1/admin/overrides/vip?tenant_id=shop").status == 404);
  CHECK(each(ask_as(bank, "GET", "/v1/admin/overrides"), "id") == "");
  CHECK(ask_as(bank, "POST", "/v1/admin/overrides/clear", R"({"tenant_id":"shop"})").status == 404);
  CHECK(ask_as(bank, "PUT", "/v1/admin/overrides/x?tenant_id=shop", fmt::format("{{{}}}", kVip)).status >= 404);
  CHECK(burst("orders", "user:42") == 500);
  const std::string operating = token("operator", R"("organization_id":"acme","tenant_ids":["shop"])");
  const admin::FinishedAnswer patched = ask_as(operating, "PATCH", "/v1/admin/overrides/vip", R"({"set":{"limit":3}})");
  CHECK(patched.status == 200);
  CHECK(at(patched, "/published") == "true");
  CHECK(burst("orders", "user:42") == 3);
  const std::string reading = token("auditor", R"("organization_id":"acme")");
  CHECK(ask_as(reading, "GET", "/v1/admin/overrides/vip?tenant_id=shop").status == 200);
  CHECK(ask_as(reading, "DELETE", "/v1/admin/overrides/vip?tenant_id=shop").status == 403);
}

TEST_CASE_FIXTURE(CounterRig, "an idempotent call answers again what it answered, with what was published") {
  const std::string body = fmt::format(R"({{"tenant_id":"shop",{}}})", kVip);
  const admin::FinishedAnswer first = ask("POST", "/v1/admin/overrides", body, {{"idempotency-key", "k-1"}});
  CHECK(first.status == 201);
  CHECK(at(first, "/published") == "true");
  CHECK(at(first, "/id").starts_with("override-"));
  const admin::FinishedAnswer again = ask("POST", "/v1/admin/overrides", body, {{"idempotency-key", "k-1"}});
  CHECK(again.body == first.body);
  CHECK(header(again, "Idempotency-Replayed") == "true");
}

TEST_CASE_FIXTURE(AdminRig, "a server without a Redis says what to configure") {
  found_acme();
  const admin::FinishedAnswer refused = ask("GET", "/v1/admin/overrides?tenant_id=shop");
  CHECK(refused.status == 503);
  CHECK(at(refused, "/type") == "/problems/no-counters");
  CHECK(at(refused, "/detail").find("--counters") != std::string::npos);
}

}  // namespace sluice::server::test
