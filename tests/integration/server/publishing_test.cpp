// What was committed reaches Redis, whatever happens to Redis or to the server in between.
#include <doctest/doctest.h>
#include <fmt/core.h>

#include "tests/integration/server/counter_rig.hpp"

namespace sluice::server::test {
namespace {

using namespace std::chrono_literals;

std::string vip(int limit) {
  return fmt::format(R"("policy_id":"orders","limit_name":"burst","identity":{{"subject":"ann"}},"set":{{"limit":{}}})",
                     limit);
}

// As an operator sees them: members of one override.
std::string published(const admin::FinishedAnswer& answer) { return at(answer, "/published"); }

}  // namespace

TEST_CASE_FIXTURE(CounterRig, "after FLUSHALL every live override is back within five seconds") {
  for (int i = 0; i < 200; ++i) {
    put_override(
        fmt::format("o{}", i),
        fmt::format(R"("policy_id":"orders","limit_name":"burst","identity":{{"subject":"s{}"}},"set":{{"limit":{}}})",
                    i, 1000 + i));
  }
  put_override("gold", R"("plan_id":"pro","limit_name":"burst","identity":{"subject":"ann"},"set":{"limit":77})");
  redis.command({"FLUSHALL"});
  CHECK(eventually([&] { return redis.command({"EXISTS", "sl:{marker}"}) == "1"; }, 5s));
  CHECK(burst("orders", "s0") == 1000);
  CHECK(burst("orders", "s199") == 1199);
  CHECK(burst("paid", "ann") == 77);
  CHECK(burst("plan:pro", "ann") == 77);
  CHECK(publisher().statistics().failed == 0);
}

TEST_CASE_FIXTURE(CounterRig, "a Redis that was killed and starts empty has the overrides again") {
  put_override("vip", vip(500));
  redis.restart();
  CHECK(eventually([&] { return burst("orders", "ann") == 500; }));
}

TEST_CASE_FIXTURE(CounterRig, "while Redis is away overrides are stored, and the answer says that they wait") {
  redis.kill();
  CHECK(eventually([&] { return !publisher().link().ready(); }));
  const admin::FinishedAnswer made = put_override("vip", vip(500));
  CHECK(made.status == 201);
  CHECK(published(made) == "false");
  CHECK(published(get_override("vip")) == "false");
  CHECK(each(ask("GET", "/v1/admin/overrides?tenant_id=shop"), "published") == "false");
  CHECK(eventually([&] { return publisher().statistics().waiting == 1; }));
  CHECK(publisher().degraded().size() == 1);
  redis.start_again();
  CHECK(eventually([&] { return published(get_override("vip")) == "true"; }));
  CHECK(burst("orders", "ann") == 500);
  CHECK(publisher().degraded().empty());
}

TEST_CASE_FIXTURE(CounterRig, "what a server that was killed had committed and not published, the next one publishes") {
  redis.pause();
  CHECK(published(put_override("vip", vip(500))) == "false");
  end_publisher();
  redis.kill();
  redis.start_again();
  CHECK(burst("orders", "ann") == 10);
  REQUIRE(start_publisher());
  CHECK(eventually([&] { return published(get_override("vip")) == "true"; }));
  CHECK(burst("orders", "ann") == 500);
}

TEST_CASE_FIXTURE(CounterRig, "what one server cannot publish another one does") {
  const auto cut_off = make_publisher("unix:/nowhere/redis.sock");
  REQUIRE(cut_off->start());
  set_publisher(*cut_off);
  CHECK(published(put_override("vip", vip(500))) == "false");
  CHECK(eventually([&] { return published(get_override("vip")) == "true"; }));
  CHECK(burst("orders", "ann") == 500);
  set_publisher(publisher());
}

TEST_CASE_FIXTURE(CounterRig, "two servers that publish beside each other end with what was written last") {
  const auto other = make_publisher(redis.unix_url());
  REQUIRE(other->start());
  for (int i = 0; i < 30; ++i) {
    set_publisher(i % 2 == 0 ? *other : publisher());
    CHECK(published(put_override("vip", vip(100 + i))) == "true");
    CHECK(burst("orders", "ann") == 100 + i);
    if (i % 10 == 5) redis.command({"FLUSHALL"});
  }
  CHECK(eventually([&] { return redis.command({"EXISTS", "sl:{marker}"}) == "1"; }));
  CHECK(burst("orders", "ann") == 129);
  set_publisher(publisher());
}

TEST_CASE_FIXTURE(CounterRig, "a newer write wins over one whose answer never came") {
  put_override("vip", vip(100));
  redis.pause();
  CHECK(published(put_override("vip", vip(200))) == "false");
  redis.resume();
  CHECK(eventually([&] { return publisher().link().ready() && published(put_override("vip", vip(300))) == "true"; }));
  CHECK(burst("orders", "ann") == 300);
  CHECK(eventually([&] { return count(execute("SELECT count(*) FROM outbox")) == 0; }));
  CHECK(burst("orders", "ann") == 300);
}

TEST_CASE_FIXTURE(CounterRig, "a write without an answer is repeated: Redis may carry it out after a newer one") {
  const auto elsewhere = make_publisher("unix:/nowhere/redis.sock");
  REQUIRE(elsewhere->start());
  put_override("vip", vip(100));
  redis.pause();
  REQUIRE(published(put_override("vip", vip(200))) == "false");
  set_publisher(*elsewhere);
  REQUIRE(published(put_override("vip", vip(300))) == "false");
  // As if another server had published 300 in the meantime. What Redis then carries out late is the write of 200.
  execute("DELETE FROM outbox");
  redis.resume();
  CHECK(eventually([&] { return burst("orders", "ann") == 300; }));
  set_publisher(publisher());
}

TEST_CASE_FIXTURE(CounterRig, "a key that a republish cannot write waits in the outbox until it can be written") {
  const std::string key = "sl:{shop|subject=ann}:p=orders";
  put_override("vip", vip(500));
  redis.command({"DEL", key});
  redis.command({"RPUSH", key, "not a state"});
  redis.command({"DEL", "sl:{marker}"});
  CHECK(eventually([&] { return redis.command({"EXISTS", "sl:{marker}"}) == "1"; }));
  CHECK(published(get_override("vip")) == "false");
  redis.command({"DEL", key});
  CHECK(eventually([&] { return published(get_override("vip")) == "true"; }));
  CHECK(burst("orders", "ann") == 500);
}

TEST_CASE_FIXTURE(CounterRig, "a key in a slot that no node serves waits in the outbox until one does") {
  const std::string key = "sl:{shop|subject=ann}:p=orders";
  RedisServer cluster({.config = {"cluster-enabled yes", "cluster-require-full-coverage no",
                                  fmt::format("cluster-port {}", sluice::test::free_port())}});
  REQUIRE(cluster.command({"CLUSTER", "ADDSLOTSRANGE", "0", "16383"}) == "OK");
  const std::string slot = cluster.command({"CLUSTER", "KEYSLOT", key});
  const auto elsewhere = make_publisher(fmt::format("redis+cluster://127.0.0.1:{}", cluster.port()));
  end_publisher();
  set_publisher(*elsewhere);
  REQUIRE(elsewhere->start());
  CHECK(eventually([&] { return published(put_override("vip", vip(500))) == "true"; }));
  REQUIRE(eventually([&] { return cluster.command({"EXISTS", "sl:{marker}"}) == "1"; }));
  REQUIRE(cluster.command({"DEL", key}) == "1");
  REQUIRE(cluster.command({"CLUSTER", "DELSLOTS", slot}) == "OK");
  REQUIRE(cluster.command({"DEL", "sl:{marker}"}) == "1");
  REQUIRE(eventually([&] { return cluster.command({"EXISTS", "sl:{marker}"}) == "1"; }));
  CHECK(published(get_override("vip")) == "false");
  REQUIRE(cluster.command({"CLUSTER", "ADDSLOTS", slot}) == "OK");
  CHECK(eventually([&] { return published(get_override("vip")) == "true"; }));
  CHECK(cluster.command({"EXISTS", key}) == "1");
}

TEST_CASE_FIXTURE(CounterRig, "a key that cannot be written delays no other, and is written when it can be") {
  const std::string key = "sl:{shop|subject=ann}:p=orders";
  redis.command({"RPUSH", key, "not a state"});
  CHECK(published(put_override("vip", vip(500))) == "false");
  REQUIRE(published(get_override("vip")) == "false");
  // However often Redis refuses the write, one row of the outbox waits for it.
  CHECK(eventually([&] { return publisher().statistics().failed >= 4; }));
  CHECK(count(execute("SELECT count(*) FROM outbox")) == 1);
  const admin::FinishedAnswer other = put_override(
      "bob", R"("policy_id":"orders","limit_name":"burst","identity":{"subject":"bob"},"set":{"limit":44})");
  CHECK(published(other) == "true");
  CHECK(burst("orders", "bob") == 44);
  redis.command({"DEL", key});  // not FLUSHALL: without the marker all overrides would be published again
  CHECK(eventually([&] { return published(get_override("vip")) == "true"; }));
  CHECK(burst("orders", "ann") == 500);
  CHECK(burst("orders", "bob") == 44);
}

TEST_CASE_FIXTURE(CounterRig, "a Redis that may drop overrides is refused, unless that is allowed") {
  redis.command({"CONFIG", "SET", "maxmemory-policy", "allkeys-lru"});
  const auto refused = start_publisher();
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == "evicts");
  CHECK(refused.error().text.find("--allow-evicting-redis") != std::string::npos);
  REQUIRE(start_publisher(true));
  CHECK(published(put_override("vip", vip(500))) == "true");
  CHECK(publisher().statistics().evicts);
  CHECK(publisher().degraded().empty());
}

TEST_CASE_FIXTURE(CounterRig, "a Redis that comes to drop keys is told nothing until it keeps them again") {
  redis.command({"CONFIG", "SET", "maxmemory-policy", "volatile-ttl"});
  CHECK(eventually([&] { return !publisher().degraded().empty(); }));
  CHECK(published(put_override("vip", vip(500))) == "false");
  CHECK(burst("orders", "ann") == 10);
  redis.command({"CONFIG", "SET", "maxmemory-policy", "noeviction"});
  CHECK(eventually([&] { return published(get_override("vip")) == "true"; }));
  CHECK(burst("orders", "ann") == 500);
}

}  // namespace sluice::server::test
