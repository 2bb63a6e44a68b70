// The fleet as operators see it.
#include <doctest/doctest.h>
#include <fmt/core.h>

#include "server/fleet/fleet_store.hpp"
#include "tests/integration/server_fleet/fleet_rig.hpp"

namespace sluice::server::test {
namespace {

using namespace std::chrono_literals;

struct View : FleetRig {
  std::unique_ptr<fleet::Fleet> fleet = replica();

  void await_agents(int agents) {
    CHECK(eventually([&] { return count(execute("SELECT count(*) FROM agents WHERE state IS NOT NULL")) == agents; }));
  }
  // "total enforcing lagging missing refusing foreign; true or false"
  std::string enforcement(std::int64_t revision, const std::string& token = "") {
    const admin::FinishedAnswer answer =
        ask_as(token.empty() ? admin() : token, "GET", fmt::format("/v1/admin/revisions/{}", revision));
    std::string text;
    for (const char* name : {"total", "enforcing", "lagging", "missing", "refusing", "foreign"}) {
      text += at(answer, fmt::format("/agents/{}", name)) + " ";
    }
    return text + at(answer, "/enforced_by_all");
  }
  void report_at(const sync::AgentCaller& caller, const std::string& agent, const sluice::sync::Position& position) {
    fleet->report(caller, "10.0.0.1", document(agent, {}, position));
  }
  bool enforced(std::int64_t revision, const std::string& expected) {
    return eventually([&] { return enforcement(revision) == expected; }, 5s);
  }
};

}  // namespace

TEST_CASE_FIXTURE(View, "a revision is enforced by all when every agent says that it is there, and not before") {
  const sluice::sync::Position before = head();
  CHECK(enforcement(before.revision) == "0 0 0 0 0 0 false");  // nobody enforces it
  report_at(acme, "a", before);
  report_at(platform, "b", before);
  CHECK(enforced(before.revision, "2 2 0 0 0 0 true"));
  CHECK(ask("PATCH", "/v1/admin/tenants/shop", R"({"name":"Shop"})").status == 200);
  const sluice::sync::Position after = head();
  CHECK(enforcement(after.revision) == "2 0 2 0 0 0 false");
  report_at(acme, "a", after);
  CHECK(enforced(after.revision, "2 1 1 0 0 0 false"));
  report_at(platform, "b", after);
  CHECK(enforced(after.revision, "2 2 0 0 0 0 true"));
  CHECK(enforcement(before.revision) == "2 2 0 0 0 0 true");
  CHECK(ask("GET", fmt::format("/v1/admin/revisions/{}", after.revision + 1)).status == 404);
  CHECK(ask("GET", "/v1/admin/revisions/x").status == 404);
}

TEST_CASE_FIXTURE(View,
                  "agents that are of another history, refuse, are missing or lost their watch do not enforce it") {
  const sluice::sync::Position now = head();
  report_at(acme, "good", now);
  report_at(acme, "elsewhere", {.revision = now.revision, .chain = std::string(64, 'a')});
  auto refusing = document("refusing", {}, sluice::sync::Position{.revision = now.revision - 1, .chain = "00"});
  refusing.agent.enforced.reset();
  refusing.agent.refusal = sluice::sync::SnapshotRefusal{.refused = now, .code = "invalid_snapshot", .text = "why"};
  fleet->report(acme, "10.0.0.1", refusing);
  fleet->report(acme, "10.0.0.1", document("new"));
  CHECK(enforced(now.revision, "4 1 1 0 1 1 false"));
  const admin::FinishedAnswer agents = ask("GET", "/v1/admin/agents?organization_id=acme");
  CHECK(each(agents, "id") == "elsewhere good new refusing");
  CHECK(at(agents, "/items/0/lag") == "null");
  CHECK(at(agents, "/items/1/lag") == "0");
  CHECK(at(agents, "/items/3/refusal/code") == "invalid_snapshot");
  CHECK(at(agents, "/items/3/refusal/revision") == std::to_string(now.revision));
  CHECK(at(agents, "/items/1/refusal") == "null");
  // A lost watch may mean another run, with an older state.
  fleet->watch_began(acme, "good", now);
  CHECK(eventually([&] { return at(ask("GET", "/v1/admin/agents"), "/items/1/connected") == "true"; }));
  CHECK(enforcement(now.revision) == "4 1 1 0 1 1 false");
  fleet->watch_ended(acme, "good");
  CHECK(enforced(now.revision, "4 0 1 1 1 1 false"));
  CHECK(at(ask("GET", "/v1/admin/agents"), "/items/1/connected") == "false");
  // It comes back as a run that is behind, until it reports that it has caught up.
  fleet->watch_began(acme, "good", sluice::sync::Position{.revision = now.revision - 1, .chain = now.chain});
  CHECK(enforced(now.revision, "4 0 2 0 1 1 false"));
  report_at(acme, "good", now);
  CHECK(enforced(now.revision, "4 1 1 0 1 1 false"));
  execute("UPDATE agents SET heard_at = now() - interval '16 s'");
  CHECK(enforcement(now.revision) == "4 0 0 4 0 0 false");
  CHECK(each(ask("GET", "/v1/admin/agents?status=missing"), "status") == "missing missing missing missing");
  CHECK(each(ask("GET", "/v1/admin/agents?status=live"), "id").empty());
  execute("UPDATE agents SET heard_at = now() - interval '11 min'");
  CHECK(enforcement(now.revision) == "0 0 0 0 0 0 false");
  CHECK(each(ask("GET", "/v1/admin/agents"), "id").empty());
}

TEST_CASE_FIXTURE(View, "agents beyond the caller's scope are not shown, and count where they serve what is in it") {
  const sluice::sync::Position now = head();
  report_at(platform, "p", now);
  report_at(acme, "a", now);
  report_at(shop, "s", now);
  report_at({.token_id = "t", .organization_id = "acme", .tenant_ids = {"bank"}}, "b", now);
  report_at({.token_id = "t", .organization_id = "other", .tenant_ids = {}}, "o", now);
  await_agents(5);
  const std::string of_acme = token("auditor", R"("organization_id":"acme")");
  const std::string of_shop = token("operator", R"("organization_id":"acme","tenant_ids":["shop"])");
  CHECK(each(ask("GET", "/v1/admin/agents"), "id") == "a b o p s");
  CHECK(each(ask_as(of_acme, "GET", "/v1/admin/agents"), "id") == "a b s");
  CHECK(each(ask_as(of_shop, "GET", "/v1/admin/agents"), "id") == "s");
  CHECK(each(ask("GET", "/v1/admin/agents?tenant_id=shop"), "id") == "a p s");
  CHECK(enforcement(now.revision) == "5 5 0 0 0 0 true");
  CHECK(enforcement(now.revision, of_acme) == "4 4 0 0 0 0 true");
  CHECK(enforcement(now.revision, of_shop) == "3 3 0 0 0 0 true");
  // Page by page it is the same list.
  const admin::FinishedAnswer first = ask("GET", "/v1/admin/agents?limit=3");
  CHECK(each(first, "id") == "a b o");
  CHECK(each(ask("GET", "/v1/admin/agents?limit=3&cursor=" + at(first, "/next")), "id") == "p s");
}

TEST_CASE_FIXTURE(View, "an answer asks to wait only while not all enforce it") {
  const sluice::sync::Position now = head();
  CHECK(ask("GET", fmt::format("/v1/admin/revisions/{}?wait=10s", now.revision)).wait == 10s);
  report_at(acme, "a", now);
  CHECK(enforced(now.revision, "1 1 0 0 0 0 true"));
  CHECK(ask("GET", fmt::format("/v1/admin/revisions/{}?wait=10s", now.revision)).wait == 0s);
  for (const char* wait : {"61s", "x", "-1s"}) {
    CHECK(faulty(ask("GET", fmt::format("/v1/admin/revisions/{}?wait={}", now.revision, wait))) == "?wait");
  }
}

TEST_CASE_FIXTURE(View, "what was decided is counted by tenant, policy, outcome and time, within the caller's scope") {
  const sync::AgentCaller both{.token_id = "t", .organization_id = "acme", .tenant_ids = {"bank", "shop"}};
  auto one = usage(1, "allowed", 10);
  one.counts.push_back({"shop", "orders", "denied", 4});
  one.counts.push_back({"shop", "trial", "shadow_denied", 3});
  one.counts.push_back({"shop", "trial", "shadow_allowed", 7});
  one.counts.push_back({"bank", "orders", "allowed", 100});
  one.subjects = {{"shop", "orders", "sha256:aa", 3}, {"shop", "orders", "sha256:bb", 5}, {"bank", "orders", "ann", 1}};
  fleet->report(both, "10.0.0.1", document("agent", {one}));
  CHECK(eventually([&] { return counted() == 124; }));
  const admin::FinishedAnswer all = ask("GET", "/v1/admin/analytics");
  CHECK(each(all, "tenant_id") == "bank shop shop shop shop");
  CHECK(each(all, "outcome") == "allowed allowed denied shadow_allowed shadow_denied");
  CHECK(each(all, "count") == "100 10 4 7 3");
  CHECK(at(all, "/totals/decisions") == "114");
  CHECK(at(all, "/totals/shadow/would_deny") == "3");
  CHECK(at(all, "/totals/shadow/would_allow") == "7");
  CHECK(each(ask("GET", "/v1/admin/analytics?by=tenant"), "count") == "100 24");
  CHECK(each(ask("GET", "/v1/admin/analytics?by=outcome,day&tenant_id=shop&outcome=denied"), "count") == "4");
  CHECK(at(ask("GET", "/v1/admin/analytics?until=2020-01-01T00:00:00Z"), "/totals/decisions") == "0");
  std::string paged;
  std::string cursor;
  do {
    const admin::FinishedAnswer page = ask("GET", "/v1/admin/analytics?limit=2&by=minute,policy,outcome" + cursor);
    paged += each(page, "count") + " ";
    cursor = at(page, "/next") == "null" ? "" : "&cursor=" + at(page, "/next");
  } while (!cursor.empty());
  CHECK(paged == "100 10 4 7 3 ");
  for (const char* wrong : {"by=week", "by=minute,day", "since=2030-01-01T00:00:00Z&until=2029-01-01T00:00:00Z"}) {
    CHECK(ask("GET", fmt::format("/v1/admin/analytics?{}", wrong)).status == 400);
  }
  const admin::FinishedAnswer subjects = ask("GET", "/v1/admin/analytics/subjects");
  CHECK(each(subjects, "subject") == "sha256:bb sha256:aa ann");
  const std::string of_bank = token("auditor", R"("organization_id":"acme","tenant_ids":["bank"])");
  CHECK(at(ask_as(of_bank, "GET", "/v1/admin/analytics"), "/totals/decisions") == "100");
  CHECK(each(ask_as(of_bank, "GET", "/v1/admin/analytics/subjects"), "subject") == "ann");
}

TEST_CASE_FIXTURE(View, "utilization is added up by policy and time, within the caller's scope") {
  const sync::AgentCaller both{.token_id = "t", .organization_id = "acme", .tenant_ids = {"bank", "shop"}};
  auto one = usage(1, "allowed", 1);
  one.utilization = {{.tenant_id = "shop", .policy_id = "orders", .decisions = 3, .near_limit = 1, .used = 15'000},
                     {.tenant_id = "shop", .policy_id = "", .decisions = 1, .near_limit = 0, .used = 0},
                     {.tenant_id = "bank", .policy_id = "orders", .decisions = 2, .near_limit = 2, .used = 20'000}};
  auto two = usage(2, "allowed", 1);
  two.utilization = {{.tenant_id = "shop", .policy_id = "orders", .decisions = 1, .near_limit = 0, .used = 1'000}};
  CHECK(at(ask("GET", "/v1/admin/analytics/utilization"), "/totals/utilization") == "null");
  fleet->report(both, "10.0.0.1", document("agent", {one}));
  CHECK(eventually([&] { return counted() == 1; }));
  fleet->report(both, "10.0.0.1", document("agent", {one, two}));
  CHECK(eventually([&] { return counted() == 2; }));
  const admin::FinishedAnswer all = ask("GET", "/v1/admin/analytics/utilization");
  CHECK(each(all, "tenant_id") == "bank shop shop");
  CHECK(each(all, "policy_id") == "orders  orders");
  CHECK(each(all, "decisions") == "2 1 4");
  CHECK(each(all, "near_limit") == "2 0 1");
  CHECK(at(all, "/items/2/utilization") == "0.4");
  CHECK(at(all, "/totals/decisions") == "7");
  CHECK(at(all, "/totals/near_limit") == "3");
  CHECK(at(all, "/totals/utilization") == "0.5143");
  CHECK(each(ask("GET", "/v1/admin/analytics/utilization?by=tenant,day&tenant_id=shop"), "decisions") == "5");
  const admin::FinishedAnswer first = ask("GET", "/v1/admin/analytics/utilization?limit=2");
  CHECK(each(first, "decisions") == "2 1");
  CHECK(each(ask("GET", "/v1/admin/analytics/utilization?cursor=" + at(first, "/next")), "decisions") == "4");
  const std::string of_bank = token("auditor", R"("organization_id":"acme","tenant_ids":["bank"])");
  CHECK(at(ask_as(of_bank, "GET", "/v1/admin/analytics/utilization"), "/totals/decisions") == "2");
  for (const char* wrong : {"by=outcome", "by=week"}) {
    CHECK(ask("GET", fmt::format("/v1/admin/analytics/utilization?{}", wrong)).status == 400);
  }
}

TEST_CASE_FIXTURE(View, "analytics count from since, inclusive, until the end, exclusive") {
  for (const auto& [minute, decisions] : {std::pair("11:59", 1), {"12:00", 10}, {"12:30", 100}, {"13:00", 1000}}) {
    execute(
        fmt::format("INSERT INTO usage (minute, organization_id, tenant_id, policy_id, outcome, count) VALUES "
                    "('2026-03-01T{}:00Z', 'acme', 'shop', 'orders', 'allowed', {})",
                    minute, decisions));
  }
  for (const auto& [hour, calls] : {std::pair("11", 1), {"12", 10}, {"13", 100}}) {
    execute(
        fmt::format("INSERT INTO usage_subjects (hour, organization_id, tenant_id, policy_id, subject, count) VALUES "
                    "('2026-03-01T{0}:00:00Z', 'acme', 'shop', 'orders', 'at {0}', {1})",
                    hour, calls));
  }
  const std::string noon = "?since=2026-03-01T12:00:00Z&until=2026-03-01T13:00:00Z";
  const admin::FinishedAnswer hour = ask("GET", "/v1/admin/analytics" + noon + "&by=minute");
  CHECK(each(hour, "count") == "10 100");
  CHECK(at(hour, "/totals/decisions") == "110");
  CHECK(at(hour, "/until") == "2026-03-01T13:00:00Z");
  CHECK(each(ask("GET", "/v1/admin/analytics/subjects" + noon), "subject") == "at 12");
  // Without since it is the hour before until; a since within a minute counts that minute whole.
  CHECK(at(ask("GET", "/v1/admin/analytics?until=2026-03-01T13:00:00Z"), "/totals/decisions") == "110");
  CHECK(at(ask("GET", "/v1/admin/analytics?since=2026-03-01T12:30:59Z&until=2026-03-01T12:31:00Z"),
           "/totals/decisions") == "100");
}

TEST_CASE_FIXTURE(View, "what is older than the retention is removed, and agents that were forgotten") {
  auto one = usage(1, "allowed", 1);
  one.subjects = {{"shop", "orders", "old", 3}};
  one.unmatched = {{"shop", "GET:/old", 3}};
  one.utilization = {{.tenant_id = "shop", .policy_id = "orders", .decisions = 1, .near_limit = 0, .used = 1}};
  fleet->report(shop, "10.0.0.1", document("agent", {one}));
  CHECK(eventually([&] { return counted() == 1; }));
  fleet.reset();
  execute(
      "UPDATE usage SET minute = minute - interval '2 days'; UPDATE usage_subjects SET hour = hour - interval '2 "
      "days'; "
      "UPDATE usage_unmatched SET hour = hour - interval '2 days'; "
      "UPDATE usage_utilization SET minute = minute - interval '2 days'; "
      "UPDATE agents SET heard_at = now() - interval '11 min'");
  execute("INSERT INTO usage VALUES (now(), 'acme', 'shop', 'orders', 'allowed', 10)");
  execute(
      "INSERT INTO usage_subjects (hour, organization_id, tenant_id, policy_id, subject, count) VALUES (now(), 'acme', "
      "'shop', 'orders', 'new', 4)");
  execute(
      "INSERT INTO usage_quotas (organization_id, tenant_id, policy_id, plan_id, limit_name, counter, percent, quota, "
      "period_from, period_to, subject, used, stored_at) SELECT 'acme', 'shop', 'orders', '', name, 'c', 80, 10, now() "
      "- "
      "interval '3 days', ends, '', 8, stored FROM (VALUES ('day', now() - interval '2 days', now() - interval '3 "
      "days'), "
      "('year', now() + interval '1 day', now() - interval '3 days'), ('false', now() + interval '9 years', now() - "
      "interval '2 years')) AS given (name, ends, stored)");
  postgres::Pool pool(database_options(), 1);
  postgres::Session session(pool);
  postgres::Transaction tx(*session.connection());
  tx.enter(postgres::Scope::everything("test"));
  fleet::tidy_fleet(tx, 24h);  // a quota stays until its period is over
  tx.commit();
  CHECK(counted() == 10);
  CHECK(execute("SELECT subject FROM usage_subjects") == "new");
  CHECK(count(execute("SELECT count(*) FROM usage_unmatched")) == 0);
  CHECK(count(execute("SELECT count(*) FROM usage_utilization")) == 0);
  CHECK(execute("SELECT limit_name FROM usage_quotas") == "year");
  CHECK(count(execute("SELECT count(*) FROM agents")) == 0);
  CHECK(count(execute("SELECT count(*) FROM report_marks")) == 1);
}

}  // namespace sluice::server::test
