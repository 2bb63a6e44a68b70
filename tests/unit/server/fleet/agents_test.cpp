// Which agents there are, who is live, and what of them is to be stored.
#include <doctest/doctest.h>

#include "server/fleet/agent_table.hpp"
#include "server/fleet/state_text.hpp"

using namespace sluice;
using namespace sluice::server;
using namespace std::chrono_literals;

namespace {

const server::sync::AgentCaller kPlatform{.token_id = "t0", .organization_id = "", .tenant_ids = {}};
const server::sync::AgentCaller kAcme{.token_id = "t1", .organization_id = "acme", .tenant_ids = {}};
const server::sync::AgentCaller kShop{.token_id = "t2", .organization_id = "acme", .tenant_ids = {"shop"}};
const server::sync::AgentCaller kBoth{.token_id = "t3", .organization_id = "acme", .tenant_ids = {"bank", "shop"}};

sluice::sync::AgentState state(std::string id, bool leaving = false) {
  return {.agent_id = std::move(id),
          .pod = "pod",
          .boot_id = "boot",
          .version = "1",
          .enforced = std::nullopt,
          .degraded = {},
          .refusal = std::nullopt,
          .leaving = leaving};
}

struct World {
  fleet::FleetTime now = fleet::FleetTime(1h);
  fleet::AgentTable table;

  void hear(const server::sync::AgentCaller& caller, const std::string& id) {
    REQUIRE(table.report(caller, state(id), now));
  }
  std::size_t live() { return table.counts(now).live.total(); }
};

}  // namespace

TEST_CASE_FIXTURE(World, "an agent serves the tenants its token reaches, and each tenant is told how many serve it") {
  hear(kPlatform, "p");
  hear(kAcme, "a1");
  hear(kAcme, "a2");
  hear(kShop, "s");
  hear(kBoth, "b");
  CHECK(table.live_agents(kAcme, now) == sluice::sync::LiveAgents{{"*", 3}, {"bank", 4}, {"shop", 5}});
  CHECK(table.live_agents(kShop, now) == sluice::sync::LiveAgents{{"shop", 5}});
  CHECK(table.live_agents(kBoth, now) == sluice::sync::LiveAgents{{"bank", 4}, {"shop", 5}});
  // Until the organization's tenants are known, those that no agent lists count as if they had the platform's only.
  CHECK(table.live_agents(kPlatform, now) == sluice::sync::LiveAgents{{"*", 1}, {"bank", 4}, {"shop", 5}});
  table.replace_stored({}, {{"acme", {"shop", "bank", "kiosk"}}}, now);
  CHECK(table.live_agents(kPlatform, now) ==
        sluice::sync::LiveAgents{{"*", 1}, {"bank", 4}, {"kiosk", 3}, {"shop", 5}});
  const server::sync::AgentCaller stranger{.token_id = "t9", .organization_id = "other", .tenant_ids = {}};
  CHECK(table.live_agents(stranger, now) == sluice::sync::LiveAgents{{"*", 1}});
}

TEST_CASE_FIXTURE(World, "an agent is missing fifteen seconds after its last report, and forgotten after ten minutes") {
  hear(kPlatform, "p");
  now += 15s;
  CHECK(live() == 1);
  now += 1s;
  CHECK(live() == 0);
  CHECK(table.counts(now).missing == 1);
  now += 10min;
  CHECK(table.counts(now).missing == 0);
}

TEST_CASE_FIXTURE(World, "an agent that says that it ends is neither live nor missing") {
  hear(kPlatform, "p");
  CHECK(live() == 1);
  REQUIRE(table.report(kPlatform, state("p", true), now));
  CHECK(live() == 0);
  CHECK(table.counts(now).missing == 0);
  const auto rows = table.take_changed(now);
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].gone);
}

TEST_CASE_FIXTURE(World, "agents of other replicas count, each once, and those that left there no more") {
  hear(kPlatform, "p");
  hear(kPlatform, "q");
  table.take_changed(now);
  now += 3s;
  const auto seen = [](std::string id, std::chrono::seconds ago, bool gone) {
    return fleet::StoredAgent{.key = fleet::key_of(kPlatform, id), .scope = {}, .heard_ago = ago, .gone = gone};
  };
  table.replace_stored({seen("p", 1s, false), seen("r", 14s, false), seen("old", 16s, false), seen("q", 1s, true)}, {},
                       now);
  CHECK(live() == 2);
  CHECK(table.counts(now).missing == 1);
  now += 5s;
  CHECK(live() == 1);
  now += 8s;  // this replica heard "p" 16 s ago, the other one 14 s ago
  CHECK(live() == 1);
}

TEST_CASE_FIXTURE(World, "an agent whose news is not stored yet is kept, though another replica heard that it ends") {
  hear(kPlatform, "p");
  REQUIRE(table.watch_began(kPlatform, "q", std::nullopt, now));
  table.take_changed(now);
  now += 1s;
  hear(kPlatform, "p");  // a new run of it, which PostgreSQL does not know yet
  const fleet::StoredAgent gone{.key = fleet::key_of(kPlatform, "p"), .scope = {}, .heard_ago = 0s, .gone = true};
  table.replace_stored({gone}, {}, now);
  CHECK(live() == 2);
  const auto rows = table.take_changed(now);
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].key.agent_id == "p");
  table.replace_stored({gone}, {}, now);  // stored, and heard of no later than the other replica did
  CHECK(live() == 1);
}

TEST_CASE_FIXTURE(World, "an agent that came back after it left is kept, whichever replica hears that it left") {
  hear(kPlatform, "p");
  table.take_changed(now);
  // It left two seconds ago, told another replica so, and reports here since.
  table.replace_stored(
      {fleet::StoredAgent{.key = fleet::key_of(kPlatform, "p"), .scope = {}, .heard_ago = 2s, .gone = true}}, {}, now);
  CHECK(live() == 1);
}

TEST_CASE_FIXTURE(World, "an agent whose watch is open is not forgotten") {
  REQUIRE(table.watch_began(kPlatform, "p", std::nullopt, now));
  table.take_changed(now);
  now += 11min;
  table.replace_stored({}, {}, now);
  CHECK(table.take_changed(now).size() == 1);  // the watch is told again
  table.watch_ended(kPlatform, "p");
  table.take_changed(now);
  table.replace_stored({}, {}, now);
  hear(kPlatform, "p");
  CHECK(table.take_changed(now).at(0).watch == fleet::WatchState::unknown);  // it is a new one here
}

TEST_CASE_FIXTURE(World, "an agent whose news could not be stored for ten minutes is kept until it is") {
  hear(kPlatform, "p");
  now += 11min;
  table.replace_stored({}, {}, now);
  const auto rows = table.take_changed(now);
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].heard_ago == 11min);
  table.replace_stored({}, {}, now);
  table.put_back(rows);
  CHECK(table.take_changed(now).empty());  // forgotten
}

TEST_CASE_FIXTURE(World, "what an agent says is stored once, and again where that failed") {
  hear(kPlatform, "p");
  const auto rows = table.take_changed(now);
  CHECK(rows.size() == 1);
  CHECK(table.take_changed(now + 1s).empty());
  table.put_back(rows);
  CHECK(table.take_changed(now + 1s).size() == 1);
  now += 2s;
  hear(kPlatform, "p");
  CHECK(table.take_changed(now).size() == 1);
}

TEST_CASE_FIXTURE(World, "an open watch is told every five seconds, and a lost one at once") {
  REQUIRE(table.watch_began(kPlatform, "p", std::nullopt, now));
  CHECK(table.take_changed(now).at(0).watch == fleet::WatchState::open);
  CHECK(table.take_changed(now + 4s).empty());
  CHECK(table.take_changed(now + 5s).at(0).watch == fleet::WatchState::open);
  // The next one opens before the last one ends.
  REQUIRE(table.watch_began(kPlatform, "p", std::nullopt, now + 6s));
  table.watch_ended(kPlatform, "p");
  CHECK(table.take_changed(now + 6s).at(0).watch == fleet::WatchState::open);
  table.watch_ended(kPlatform, "p");
  CHECK(table.take_changed(now + 6s).at(0).watch == fleet::WatchState::lost);
}

TEST_CASE_FIXTURE(World, "more agents than are kept are not taken, and those that are kept go on") {
  fleet::AgentTable small({.per_token = 2});
  CHECK(small.report(kShop, state("a"), now));
  CHECK(small.report(kShop, state("b"), now));
  const auto refused = small.report(kShop, state("c"), now);
  REQUIRE_FALSE(refused);
  CHECK(refused.error() ==
        server::sync::QuotaExceeded{
            .quota = "agents_per_token", .owner_kind = "token", .owner = "t2", .used = 2, .limit = 2});
  CHECK_FALSE(small.watch_began(kShop, "c", std::nullopt, now));
  CHECK(small.report(kShop, state("a"), now));
  CHECK(small.report(kBoth, state("c"), now));
}

TEST_CASE_FIXTURE(World, "quotas that are set replace the limits, from the next additional agent on") {
  fleet::AgentTable small({.per_token = 1, .per_tenant = 1, .per_organization = 1});
  const auto set = [&small](std::string_view tenant, std::string_view id, const std::string& document) {
    auto quotas = std::make_shared<server::auth::KnownQuotas>();
    quotas->set(tenant, id, document);
    small.set_quotas(std::move(quotas));
  };
  CHECK(small.report(kShop, state("a"), now));
  set("shop", "shop", R"({"agents":3,"agents_per_token":2})");
  CHECK(small.report(kShop, state("b"), now));
  CHECK(small.report(kShop, state("c"), now).error().quota == "agents_per_token");
  set("shop", "shop", R"({"agents":2,"agents_per_token":9})");
  CHECK(small.report(kShop, state("c"), now).error() ==
        server::sync::QuotaExceeded{.quota = "agents", .owner_kind = "tenant", .owner = "shop", .used = 2, .limit = 2});
  set("", "acme", R"({"agents":2,"agents_per_token":2})");
  CHECK(small.report(kAcme, state("d"), now));
  CHECK(small.report(kAcme, state("e"), now));
  CHECK(small.report(kAcme, state("f"), now).error().limit == 2);
  set("", "acme", R"({"agents":0})");
  CHECK(small.report(kAcme, state("d"), now));                     // a listed agent goes on
  CHECK(small.report(kAcme, state("f"), now).error().limit == 1);  // of the token, which is checked first
}

TEST_CASE_FIXTURE(World, "more tokens do not give a tenant or an organization more agents") {
  fleet::AgentTable small({.per_tenant = 2, .per_organization = 1});
  server::sync::AgentCaller another = kShop;
  another.token_id = "t7";
  CHECK(small.report(kShop, state("a"), now));
  CHECK(small.report(kBoth, state("b"), now));
  CHECK(small.report(another, state("c"), now).error().owner_kind == "tenant");
  CHECK(small.report(kAcme, state("d"), now));
  CHECK(small.report(kAcme, state("e"), now).error().owner_kind == "organization");
  const server::sync::AgentCaller bank{.token_id = "t8", .organization_id = "acme", .tenant_ids = {"bank"}};
  CHECK(small.report(bank, state("f"), now));
  CHECK(small.report(kPlatform, state("g"), now));
}

TEST_CASE_FIXTURE(World, "an agent that is listed again under a new token counts for that one") {
  fleet::AgentTable small({.per_token = 1});
  server::sync::AgentCaller renewed = kShop;
  renewed.token_id = "t7";
  CHECK(small.report(kShop, state("a"), now));
  CHECK(small.report(renewed, state("a"), now));
  CHECK(small.report(kShop, state("b"), now));
  CHECK_FALSE(small.report(renewed, state("c"), now));
}

TEST_CASE_FIXTURE(World, "agents of other replicas count against a quota, each once, until they are forgotten") {
  fleet::AgentTable small({.per_token = 2});
  const auto stored = [](std::string id) {
    return fleet::StoredAgent{.key = fleet::key_of(kShop, id),
                              .scope = fleet::scope_of(kShop),
                              .token_id = kShop.token_id,
                              .heard_ago = 1s,
                              .gone = false};
  };
  small.replace_stored({stored("a"), stored("b")}, {}, now);
  CHECK_FALSE(small.report(kShop, state("c"), now));
  CHECK(small.report(kShop, state("a"), now));  // it comes here now
  CHECK_FALSE(small.report(kShop, state("c"), now));
  small.replace_stored({stored("a")}, {}, now);
  CHECK(small.report(kShop, state("c"), now));
}

TEST_CASE("one organization's agents leave room in the list for those of others") {
  fleet::AgentCensus census({.per_token = 1000, .per_tenant = 1000, .per_organization = 1000, .total = 90});
  const auto fill = [&](const server::sync::AgentCaller& caller) {
    std::size_t taken = 0;
    const fleet::AgentKey key = fleet::key_of(caller, "any");
    const fleet::AgentScope scope = fleet::scope_of(caller);
    for (; !census.check({key, scope, caller.token_id}); ++taken) census.add({key, scope, caller.token_id});
    return taken;
  };
  CHECK(fill(kShop) == 30);
  CHECK(census.check({fleet::key_of(kShop, "x"), fleet::scope_of(kShop), kShop.token_id})->quota ==
        "agents_per_server");
  CHECK(fill(kBoth) >= 5);
  CHECK(fill({.token_id = "t9", .organization_id = "other", .tenant_ids = {}}) >= 10);
  CHECK(fill({.token_id = "t10", .organization_id = "third", .tenant_ids = {}}) >= 5);
}

TEST_CASE_FIXTURE(World,
                  "agents by bindings are told apart by their namespaces, and each one's watch ends as its own") {
  server::sync::AgentCaller shop = kShop;
  shop.namespace_ = "shop";
  server::sync::AgentCaller forum = kShop;
  forum.namespace_ = "forum";
  for (const server::sync::AgentCaller& caller : {shop, forum}) {
    hear(caller, "web-0");
    REQUIRE(table.watch_began(caller, "web-0", std::nullopt, now));
  }
  table.watch_ended(shop, "web-0");
  std::vector<std::pair<std::string, fleet::WatchState>> seen;
  for (const fleet::AgentRow& row : table.take_changed(now)) seen.emplace_back(row.key.agent_id, row.watch);
  CHECK(seen == std::vector<std::pair<std::string, fleet::WatchState>>{{"forum/web-0", fleet::WatchState::open},
                                                                       {"shop/web-0", fleet::WatchState::lost}});
}

TEST_CASE("agents of one name in two scopes are two, and under two tokens of one scope one") {
  server::sync::AgentCaller renewed = kShop;
  renewed.token_id = "t7";
  CHECK(fleet::key_of(kShop, "x") == fleet::key_of(renewed, "x"));
  CHECK(fleet::key_of(kShop, "x") != fleet::key_of(kBoth, "x"));
  CHECK(fleet::key_of(kAcme, "x") != fleet::key_of(kPlatform, "x"));
}

TEST_CASE("what PostgreSQL cannot store is taken out of an agent's words, and they are cut between characters") {
  sluice::sync::AgentState words = state("x");
  words.degraded = {std::string("a\0b", 3), std::string(fleet::kMaxStoredText - 1, 'x') + "é"};
  const std::string text = fleet::state_text(words);
  CHECK(text.find("\"a b\"") != std::string::npos);
  CHECK(text.find("x\"]") != std::string::npos);
}

TEST_CASE_FIXTURE(World, "tokens whose agents still use another login are named, by each agent's latest report") {
  const auto report = [&](const server::sync::AgentCaller& caller, std::string id, std::string generation) {
    sluice::sync::AgentState told = state(std::move(id));
    told.counters_generation = std::move(generation);
    REQUIRE(table.report(caller, told, now));
  };
  using Tokens = std::set<std::string, std::less<>>;
  report(kPlatform, "p", "new");
  report(kAcme, "a1", "new");
  report(kAcme, "a2", "old");
  report(kShop, "s", "");  // has no login from a server
  CHECK(table.tokens_with_other_logins("new", now) == Tokens{"t1"});
  CHECK(table.tokens_with_other_logins("old", now) == Tokens{"t0", "t1"});
  const auto elsewhere = [&](std::string id, std::string generation, std::chrono::seconds ago) {
    return fleet::StoredAgent{.key = fleet::key_of(kAcme, id),
                              .scope = {},
                              .token_id = "t1",
                              .counters_generation = std::move(generation),
                              .reported_ago = ago,
                              .heard_ago = 0s,
                              .gone = false};
  };
  now += 5s;
  table.replace_stored({elsewhere("a2", "new", 6s)}, {}, now);  // before it reported here
  CHECK(table.tokens_with_other_logins("new", now) == Tokens{"t1"});
  table.replace_stored({elsewhere("a2", "new", 1s), elsewhere("a1", "new", 1s)}, {}, now);
  CHECK(table.tokens_with_other_logins("new", now).empty());
  table.replace_stored({elsewhere("a3", "old", 1s)}, {}, now);
  report(kAcme, "a2", "new");
  CHECK(table.tokens_with_other_logins("new", now) == Tokens{"t1"});
  now += 11min;
  CHECK(table.tokens_with_other_logins("new", now).empty());
  report(kAcme, "a2", "old");
  sluice::sync::AgentState leaving = state("a2", true);
  leaving.counters_generation = "old";
  REQUIRE(table.report(kAcme, leaving, now));
  CHECK(table.tokens_with_other_logins("new", now).empty());
}
