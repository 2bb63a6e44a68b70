// The time of Redis that one tenant may take while Redis is busy, and what becomes of checks beyond it.
#include "engine/decide/redis_time.hpp"

#include "tests/unit/agent/api/api_rig.hpp"

namespace sluice::decide {
namespace {

using namespace std::chrono_literals;
using agent::api::ApiRig;
using http::Answer;

const RedisTime::Time kStart{100h};

constexpr const char* kTwoLimits = R"("policies":[{"id":"two","tenant_id":"shop","scope":{},"limits":[
  {"name":"a","algorithm":"token_bucket","capacity":99,"refill_per_sec":1},
  {"name":"b","algorithm":"fixed_window","limit":99,"window":"1m"}]}])";

// How many checks of 1 ms the tenant gets one after another.
int checks(RedisTime& time, std::uint64_t tenant, std::int64_t agents, std::size_t servers, RedisTime::Time now) {
  int count = 0;
  while (time.take(tenant, 1ms, agents, servers, now)) ++count;
  return count;
}

TEST_CASE("a tenant saves up what it earns in one second, and then gets what it earns") {
  RedisTime time(500ms, 1);
  CHECK(checks(time, 7, 1, 1, kStart) == 500);
  CHECK(checks(time, 7, 1, 1, kStart + 20ms) == 10);
  CHECK(checks(time, 8, 1, 1, kStart) == 500);
  CHECK(checks(time, 7, 1, 1, kStart + 1h) == 500);
}

TEST_CASE("workers and agents divide a tenant's time, and each server adds to it") {
  RedisTime time(500ms, 2);
  CHECK(checks(time, 1, 5, 1, kStart) == 50);
  CHECK(checks(time, 2, 5, 3, kStart) == 150);
}

TEST_CASE("a check that costs more than is left is paid back") {
  RedisTime time(500ms, 1);
  CHECK(time.take(7, 900ms, 1, 1, kStart));
  CHECK_FALSE(time.take(7, 1ms, 1, 1, kStart + 800ms));
  CHECK(time.take(7, 1ms, 1, 1, kStart + 801ms));
}

TEST_CASE("a tenant earns parts of a nanosecond too, however often it asks") {
  RedisTime time(1ms, 1);
  CHECK(time.take(7, 1001us, 1, 1, kStart));  // 1 us more than it has
  int passed = 0;
  for (int i = 1; i <= 4'000; ++i)
    passed += time.take(7, 1us, 1, 1, kStart + i * 500ns);  // each earns half a nanosecond
  CHECK(passed >= 1);
  CHECK(passed <= 2);
}

TEST_CASE("while Redis is busy, a tenant without time left gets overload, and other tenants do not") {
  ApiRig rig(kTwoLimits, "", {.redis_budget = 1ms});
  rig.store.is_busy = true;
  const auto checks = [&] {
    int count = 0;
    while (count < 1000 && rig.check(R"({"subject":"a"})").status != 503) ++count;
    return count;
  };
  const int with_one_agent = checks();  // of 12 µs: 9 for the call, 2 for the bucket, 1 for the window
  CHECK(with_one_agent >= 84);
  CHECK(with_one_agent < 200);  // what is earned meanwhile
  // A process that stands still for a moment earns the time of a further check.
  Answer refused = rig.check(R"({"subject":"a"})");
  for (int more = 0; more < 100 && refused.status != 503; ++more) refused = rig.check(R"({"subject":"a"})");
  CHECK(refused.has(R"("reason":"overload")"));
  CHECK(rig.in_flight.count() == 0);
  CHECK(rig.metrics.render().find(R"(sluice_overload_total{tenant="shop",cause="redis_time"} 2)") != std::string::npos);
  CHECK(rig.answers[rig.send("POST", "/v1/check", R"({"subject":"a"})", {{"x-api-key", rig.rival_key}})].status == 200);
  rig.store.is_busy = false;
  CHECK(rig.check(R"({"subject":"b"})").status == 200);
}

TEST_CASE("many live agents leave each a part of the tenant's time") {
  ApiRig rig(kTwoLimits, "", {.redis_budget = 100ms});
  rig.store.is_busy = true;
  rig.live_agents = 100'000;
  CHECK(rig.check(R"({"subject":"a"})").status == 200);
  CHECK(rig.check(R"({"subject":"b"})").status == 503);
}

TEST_CASE("a whole second of Redis is no bound") {
  ApiRig rig(kTwoLimits, "", {.redis_budget = 1s});
  rig.store.is_busy = true;
  rig.live_agents = 1'000'000'000;
  for (const char* subject : {"a", "b", "c"}) {
    CHECK(rig.check(std::string(R"({"subject":")") + subject + "\"}").status == 200);
  }
}

}  // namespace
}  // namespace sluice::decide
