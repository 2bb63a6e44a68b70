// What agents report is stored once and in few statements, whichever replicas hear of it and whatever happens to them.
#include <doctest/doctest.h>
#include <fmt/core.h>

#include <random>

#include "tests/integration/server_fleet/fleet_rig.hpp"

namespace sluice::server::test {
namespace {

using namespace std::chrono_literals;

bool stored_up_to(fleet::Fleet& fleet, const sync::AgentCaller& caller, const sluice::sync::ReportDocument& document,
                  std::int64_t number) {
  return eventually([&] { return fleet.report(caller, "10.0.0.1", document) == number; });
}

}  // namespace

TEST_CASE_FIXTURE(FleetRig, "a report counts once though two replicas take it, one dies, and a third starts anew") {
  const auto first = replica();
  const auto second = replica();
  const auto three = document("agent", {usage(1, "allowed", 1), usage(2, "allowed", 10), usage(3, "denied", 100)});
  first->report(shop, "10.0.0.1", three);
  second->report(shop, "10.0.0.1", three);
  CHECK(stored_up_to(*first, shop, three, 3));
  CHECK(stored_up_to(*second, shop, three, 3));
  CHECK(counted() == 111);
  {
    const auto dying = replica(false);
    CHECK(dying->report(shop, "10.0.0.1", document("agent", {usage(4, "allowed", 1000)})) == 0);
  }
  const auto third = replica();
  const auto five = document("agent", {usage(1, "allowed", 1), usage(2, "allowed", 10), usage(3, "denied", 100),
                                       usage(4, "allowed", 1000), usage(5, "allowed", 10000)});
  CHECK(stored_up_to(*third, shop, five, 5));
  CHECK(counted() == 11111);
  CHECK(count(execute("SELECT sum(count) FROM usage WHERE outcome = 'denied' AND tenant_id = 'shop' AND policy_id = "
                      "'orders' AND organization_id = 'acme'")) == 100);
  // Another boot begins at 1 again.
  auto restarted = document("agent", {usage(1, "allowed", 100000)});
  restarted.agent.boot_id = "next";
  CHECK(stored_up_to(*third, shop, restarted, 1));
  CHECK(counted() == 111111);
}

TEST_CASE_FIXTURE(FleetRig, "reports that come again are counted as replayed, by the replica that notices") {
  const auto two = document("agent", {usage(1, "allowed", 1), usage(2, "allowed", 10)});
  const auto first = replica(false);
  first->report(shop, "10.0.0.1", two);
  CHECK(first->statistics().replayed == 0);
  first->report(shop, "10.0.0.1", two);
  CHECK(first->statistics().replayed == 2);
  first->start();
  CHECK(stored_up_to(*first, shop, document("agent"), 2));
  CHECK(first->statistics().stored == 2);
  // Another replica takes them, as it cannot know of them, and finds when it stores them that they were counted.
  const auto second = replica();
  second->report(shop, "10.0.0.1", two);
  CHECK(stored_up_to(*second, shop, document("agent"), 2));
  CHECK(second->statistics().replayed == 2);
  CHECK(second->statistics().stored == 0);
  CHECK(counted() == 11);
}

TEST_CASE_FIXTURE(FleetRig, "sums are exact when many agents report to two replicas at random, and again") {
  const std::vector<std::unique_ptr<fleet::Fleet>> replicas = [this] {
    std::vector<std::unique_ptr<fleet::Fleet>> made;
    for (int i = 0; i < 2; ++i) made.push_back(replica());
    return made;
  }();
  std::minstd_rand random(7);
  std::int64_t expected = 0;
  std::vector<std::vector<sluice::sync::UsageReport>> sent(40);
  const auto batches = [&replicas] { return replicas[0]->statistics().batches + replicas[1]->statistics().batches; };
  for (int round = 1; round <= 10; ++round) {
    const std::uint64_t before = batches();
    for (std::size_t agent = 0; agent < sent.size(); ++agent) {
      const auto decided = static_cast<std::int64_t>(random() % 1000 + 1);
      expected += decided;
      sent[agent].push_back(usage(round, random() % 2 == 0 ? "allowed" : "denied", decided));
      for (const auto& fleet : replicas) {
        if (random() % 3 != 0) fleet->report(shop, "10.0.0.1", document(fmt::format("agent-{}", agent), sent[agent]));
      }
    }
    REQUIRE(eventually([&] { return batches() > before; }));  // batches and reports mix
  }
  for (std::size_t agent = 0; agent < sent.size(); ++agent) {
    for (const auto& fleet : replicas) {
      CHECK(stored_up_to(*fleet, shop, document(fmt::format("agent-{}", agent), sent[agent]), 10));
    }
  }
  CHECK(counted() == expected);
  CHECK(replicas[0]->statistics().stored + replicas[1]->statistics().stored == 400);
}

TEST_CASE_FIXTURE(FleetRig, "agents' state is one statement an interval, however many agents there are") {
  execute(
      "CREATE TABLE told (at timestamptz); GRANT ALL ON told TO sluice_app; CREATE FUNCTION tell() RETURNS trigger "
      "LANGUAGE plpgsql AS 'BEGIN INSERT INTO told VALUES (now()); RETURN NULL; END'; CREATE TRIGGER tell AFTER INSERT "
      "ON agents FOR EACH STATEMENT EXECUTE FUNCTION tell()");
  const auto begin = std::chrono::steady_clock::now();
  const auto fleet = replica({.store_every = 300ms, .batch_every = 10min});
  CHECK(eventually([&] {  // each interval has something to store
    for (int agent = 0; agent < 300; ++agent) fleet->report(acme, "10.0.0.1", document(fmt::format("agent-{}", agent)));
    return count(execute("SELECT count(*) FROM told")) >= 3;
  }));
  CHECK(count(execute("SELECT count(*) FROM agents")) == 300);
  const auto intervals = (std::chrono::steady_clock::now() - begin) / 300ms;
  CHECK(count(execute("SELECT count(*) FROM told")) <= intervals + 1);
  CHECK(fleet->live() == 300);
}

TEST_CASE_FIXTURE(FleetRig, "replicas know of each other's agents, and of those that leave") {
  const auto first = replica();
  const auto second = replica();
  first->report(platform, "10.0.0.1", document("one"));
  second->report(shop, "10.0.0.1", document("two"));
  CHECK(eventually([&] { return first->live() == 2 && second->live() == 2; }));
  CHECK(first->live_agents(shop) == sluice::sync::LiveAgents{{"shop", 2}});
  CHECK(second->live_agents(acme) == sluice::sync::LiveAgents{{"*", 1}, {"shop", 2}});
  auto last = document("one");
  last.agent.leaving = true;
  first->report(platform, "10.0.0.1", last);
  CHECK(eventually([&] { return second->live() == 1; }));
  CHECK(second->live_agents(shop) == sluice::sync::LiveAgents{{"shop", 1}});
  CHECK(each(ask("GET", "/v1/admin/agents"), "id") == "two");
}

TEST_CASE_FIXTURE(FleetRig, "while PostgreSQL is away reports wait, and are stored when it is back") {
  const auto fleet = replica();
  CHECK(stored_up_to(*fleet, shop, document("agent", {usage(1, "allowed", 1)}), 1));
  const std::string database = execute("SELECT current_database()");
  const auto limit = [&](int connections) {
    execute(fmt::format("ALTER DATABASE {} CONNECTION LIMIT {}", database.substr(0, database.find('\n')), connections));
  };
  limit(0);
  execute(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'sluice_app' AND datname = "
      "current_database()");
  const auto two = document("agent", {usage(2, "allowed", 10)});
  CHECK(fleet->report(shop, "10.0.0.1", two) == 1);
  CHECK(eventually([&] { return fleet->statistics().failures > 0; }));
  CHECK(fleet->report(shop, "10.0.0.1", two) == 1);
  CHECK(fleet->live_agents(shop) == sluice::sync::LiveAgents{{"shop", 1}});
  limit(-1);
  CHECK(stored_up_to(*fleet, shop, two, 2));
  CHECK(counted() == 11);
}

TEST_CASE_FIXTURE(FleetRig, "what agents say of themselves is stored again where PostgreSQL did not take it") {
  execute(
      "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''not now''; END'; "
      "CREATE TRIGGER refuse BEFORE INSERT ON agents FOR EACH STATEMENT EXECUTE FUNCTION refuse()");
  const auto fleet = replica();
  fleet->report(shop, "10.0.0.1", document("agent"));
  CHECK(eventually([&] { return fleet->statistics().failures > 0; }));
  execute("DROP TRIGGER refuse ON agents");
  CHECK(eventually([&] { return each(ask("GET", "/v1/admin/agents"), "id") == "agent"; }));
}

TEST_CASE_FIXTURE(FleetRig, "usage that PostgreSQL did not take is stored later, though no agent reports it again") {
  execute(
      "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''not now''; END'; "
      "CREATE TRIGGER refuse BEFORE INSERT ON usage FOR EACH STATEMENT EXECUTE FUNCTION refuse()");
  const auto fleet = replica();
  fleet->report(shop, "10.0.0.1", document("agent", {usage(1, "allowed", 5)}));
  CHECK(eventually([&] { return fleet->statistics().failures > 0; }));
  execute("DROP TRIGGER refuse ON usage");
  CHECK(eventually([&] { return counted() == 5; }));
}

TEST_CASE_FIXTURE(FleetRig, "a replica that ends stores what it was told, and leaves no watch open") {
  const auto fleet = replica({.store_every = 10min, .batch_every = 10min});
  fleet->report(shop, "10.0.0.1", document("agent", {usage(1, "allowed", 5)}));
  fleet->watch_began(shop, "agent", std::nullopt);
  CHECK(fleet->stop_within(10s));
  CHECK(counted() == 5);
  CHECK(at(ask("GET", "/v1/admin/agents"), "/items/0/connected") == "false");
}

TEST_CASE_FIXTURE(FleetRig, "an agent cannot count for a tenant that its token does not reach") {
  const auto fleet = replica();
  auto theirs = usage(1, "allowed", 5);
  theirs.counts.push_back({"bank", "orders", "allowed", 50});
  theirs.counts.push_back({"kiosk", "orders", "allowed", 500});
  theirs.subjects = {{"shop", "orders", "sha256:aa", 2}, {"bank", "orders", "sha256:bb", 3}};
  theirs.unmatched = {{"shop", "GET:/carts", 7}, {"bank", "GET:/carts", 11}};
  CHECK(stored_up_to(*fleet, shop, document("agent", {theirs}), 1));
  CHECK(counted() == 5);
  CHECK(fleet->statistics().out_of_scope == 564);
  CHECK(execute("SELECT subject, count FROM usage_subjects") == execute("SELECT 'sha256:aa', 2"));
  CHECK(execute("SELECT resource, count FROM usage_unmatched") == execute("SELECT 'GET:/carts', 7"));
}

TEST_CASE_FIXTURE(FleetRig, "a reached quota is stored once in its period, whichever agents report it and how often") {
  const auto fleet = replica();
  const auto reached = [this](std::int64_t number, std::string tenant, std::int64_t used,
                              std::chrono::hours after = 0h) {
    auto report = usage(number, "allowed", 1);
    const WallTime midnight{std::chrono::seconds(1'900'022'400)};
    report.quotas = {{.tenant_id = std::move(tenant),
                      .policy_id = "orders",
                      .plan_id = "",
                      .limit = "day",
                      .counter = "3f00",
                      .subject = "user:42",
                      .percent = 80,
                      .quota = 10,
                      .used = used,
                      .from = midnight + after,
                      .to = midnight + after + 24h}};
    return report;
  };
  CHECK(stored_up_to(*fleet, shop, document("agent", {reached(1, "shop", 8), reached(2, "shop", 9)}), 2));
  CHECK(stored_up_to(*fleet, shop, document("other", {reached(1, "shop", 10), reached(2, "bank", 8)}), 2));
  CHECK(execute("SELECT tenant_id, organization_id, limit_name, subject, percent, used, seen FROM usage_quotas") ==
        execute("SELECT 'shop', 'acme', 'day', 'user:42', 80, 8, false"));
  CHECK(stored_up_to(*fleet, shop, document("agent", {reached(3, "shop", 8, 24h)}), 3));
  CHECK(count(execute("SELECT count(*) FROM usage_quotas")) == 2);
}

}  // namespace sluice::server::test
