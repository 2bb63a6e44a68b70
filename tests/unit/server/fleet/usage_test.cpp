// Reports between their arrival and the rows they become: each counts once, within bounds.
#include <doctest/doctest.h>

#include "server/fleet/usage_batch.hpp"
#include "server/fleet/usage_pending.hpp"

using namespace sluice;
using namespace sluice::server;
using namespace std::chrono_literals;

namespace {

const server::sync::AgentCaller kPlatform{.token_id = "t0", .organization_id = "", .tenant_ids = {}};
const server::sync::AgentCaller kAcme{.token_id = "t1", .organization_id = "acme", .tenant_ids = {}};
const server::sync::AgentCaller kShop{.token_id = "t2", .organization_id = "acme", .tenant_ids = {"shop"}};
constexpr fleet::FleetTime kNow{1h};
constexpr WallTime kNoon{1'900'000'800s};  // a all_tenants minute
const fleet::OrganizationByTenant kOrganizations{{"shop", "acme"}, {"bank", "acme"}, {"kiosk", "other"}};

sluice::sync::UsageReport report(std::int64_t number, std::vector<sluice::sync::UsageCount> counts,
                                 WallTime from = kNoon) {
  return {.number = number, .from = from, .to = from + 5s, .counts = std::move(counts), .subjects = {}};
}

fleet::UsageBatch batch_of(const server::sync::AgentCaller& caller, std::vector<sluice::sync::UsageReport> reports,
                           std::int64_t mark = 0) {
  const std::vector<fleet::BootReports> taken{{.boot = {.agent = fleet::key_of(caller, "a"), .boot_id = "b"},
                                               .scope = fleet::scope_of(caller),
                                               .reports = std::move(reports)}};
  const std::vector<std::int64_t> marks{mark};
  return fleet::aggregate(taken, marks, kOrganizations, kNoon + 1h);
}

}  // namespace

TEST_CASE("a report that comes again is taken once, and told stored only when it is") {
  fleet::UsagePending usage;
  auto taken = usage.add(kShop, "a", "b", {report(1, {}), report(2, {})}, kNow);
  CHECK(taken.accepted == 2);
  CHECK(taken.stored == 0);
  auto batch = usage.take();
  taken = usage.add(kShop, "a", "b", {report(1, {}), report(2, {}), report(3, {})}, kNow);
  CHECK(taken.replayed == 2);
  CHECK(taken.accepted == 1);
  CHECK(taken.stored == 0);
  usage.confirm_stored({{.boot = batch.at(0).boot, .number = 2}});
  CHECK(usage.add(kShop, "a", "b", {}, kNow).stored == 2);
  CHECK(usage.add(kShop, "a", "another boot", {}, kNow).stored == 0);
  batch = usage.take();
  REQUIRE(batch.size() == 1);
  CHECK(batch[0].reports.size() == 1);
}

TEST_CASE("what could not be stored waits in front of what came since") {
  fleet::UsagePending usage;
  usage.add(kShop, "a", "b", {report(1, {})}, kNow);
  auto batch = usage.take();
  usage.add(kShop, "a", "b", {report(2, {})}, kNow);
  usage.put_back(std::move(batch));
  batch = usage.take();
  REQUIRE(batch.size() == 1);
  CHECK(batch[0].reports[0].number == 1);
  CHECK(batch[0].reports[1].number == 2);
  usage.confirm_stored({{.boot = batch[0].boot, .number = 2}});
  CHECK(usage.rows() == 0);
}

TEST_CASE("over the bounds nothing is taken, nor anything behind it, until there is room") {
  fleet::UsagePending usage(14);  // 4 rows for one scope
  const std::vector<sluice::sync::UsageCount> two{{"shop", "p", "allowed", 1}, {"shop", "p", "denied", 1}};
  auto taken = usage.add(kShop, "a", "b", {report(1, two), report(2, two), report(3, {})}, kNow);
  CHECK(taken.accepted == 1);
  CHECK(taken.over_limit == 2);
  CHECK(usage.is_filling());
  const auto batch = usage.take();
  CHECK(usage.add(kShop, "a", "b", {report(1, two), report(2, two)}, kNow).over_limit == 1);
  usage.confirm_stored({{.boot = batch[0].boot, .number = 1}});
  taken = usage.add(kShop, "a", "b", {report(2, two), report(3, {})}, kNow);
  CHECK(taken.accepted == 2);
  CHECK(taken.stored == 1);
}

TEST_CASE("a tenant whose reports fill its share leaves room for the reports of others, also of its organization") {
  fleet::UsagePending usage(900);
  const std::vector<sluice::sync::UsageCount> nine(9, {"shop", "p", "allowed", 1});
  const auto fill = [&](const server::sync::AgentCaller& caller) {
    std::size_t taken = 0;
    for (std::int64_t number = 1; usage.add(caller, "a", "b", {report(number, nine)}, kNow).accepted == 1; ++number) {
      taken += 10;
    }
    return taken;
  };
  CHECK(fill(kShop) == 300);
  const server::sync::AgentCaller bank{.token_id = "t3", .organization_id = "acme", .tenant_ids = {"bank"}};
  CHECK(fill(bank) >= 100);
  CHECK(fill({.token_id = "t4", .organization_id = "other", .tenant_ids = {}}) >= 150);
  CHECK(usage.rows() <= 900);
  // What is stored makes room, for its own tenant only as much as it used.
  const auto batch = usage.take();
  std::vector<fleet::Mark> marks;
  for (const fleet::BootReports& each : batch) marks.push_back({each.boot, each.reports.back().number});
  usage.confirm_stored(marks);
  CHECK(usage.rows() == 0);
}

TEST_CASE("reports that could not be stored keep their room, and give it back when they are stored") {
  fleet::UsagePending usage(6);  // 2 rows for one scope
  REQUIRE(usage.add(kShop, "a", "b", {report(1, {}), report(2, {})}, kNow).accepted == 2);
  usage.put_back(usage.take());
  CHECK(usage.add(kShop, "a", "b", {report(3, {})}, kNow).over_limit == 1);
  const auto batch = usage.take();
  usage.confirm_stored({{.boot = batch.at(0).boot, .number = 2}});
  CHECK(usage.add(kShop, "a", "b", {report(3, {})}, kNow).accepted == 1);
}

TEST_CASE("invented runs of a tenant's agents leave room for the runs of other agents") {
  fleet::UsagePending usage(fleet::UsagePending::kMaxRows, 30);
  std::size_t runs = 0;
  while (usage.add(kShop, "a", std::to_string(runs), {report(1, {})}, kNow).accepted == 1) ++runs;
  CHECK(runs == 10);
  CHECK(usage.add({.token_id = "t4", .organization_id = "other", .tenant_ids = {}}, "a", "b", {report(1, {})}, kNow)
            .accepted == 1);
  const auto batch = usage.take();
  std::vector<fleet::Mark> marks;
  for (const fleet::BootReports& each : batch) marks.push_back({each.boot, 1});
  usage.confirm_stored(marks);
  usage.forget(kNow + 11min);
  CHECK(usage.add(kShop, "a", "again", {report(1, {})}, kNow).accepted == 1);
}

TEST_CASE("a boot that nobody has heard of for long is forgotten, unless something of it waits") {
  fleet::UsagePending usage;
  usage.add(kShop, "a", "b", {report(1, {})}, kNow);
  usage.forget(kNow + 11min);
  const auto batch = usage.take();
  REQUIRE(batch.size() == 1);
  usage.confirm_stored({{.boot = batch[0].boot, .number = 1}});
  usage.forget(kNow + 11min);
  CHECK(usage.add(kShop, "a", "b", {report(1, {})}, kNow).accepted == 1);
}

TEST_CASE("reports become one row a minute, tenant, policy and outcome") {
  const fleet::UsageBatch batch =
      batch_of(kAcme, {report(1, {{"shop", "p", "allowed", 3}, {"shop", "p", "denied", 1}}),
                       report(2, {{"shop", "p", "allowed", 4}, {"bank", "p", "allowed", 1}}, kNoon + 59s),
                       report(3, {{"shop", "p", "allowed", 5}}, kNoon + 60s)});
  const std::int64_t noon = 1'900'000'800;
  CHECK(batch.minutes == std::vector<fleet::UsageRow>{{noon, "bank", "p", "allowed", "acme", 1},
                                                      {noon, "shop", "p", "allowed", "acme", 7},
                                                      {noon, "shop", "p", "denied", "acme", 1},
                                                      {noon + 60, "shop", "p", "allowed", "acme", 5}});
  CHECK(batch.stored == 3);
  CHECK(batch.marks.at(0).number == 3);
}

TEST_CASE("what is at or below the mark is counted already") {
  const fleet::UsageBatch batch =
      batch_of(kAcme, {report(4, {{"shop", "p", "allowed", 3}}), report(5, {{"shop", "p", "allowed", 4}})}, 4);
  REQUIRE(batch.minutes.size() == 1);
  CHECK(batch.minutes[0].count == 4);
  CHECK(batch.replayed == 1);
  CHECK(batch.marks.at(0).number == 5);
  CHECK(batch_of(kAcme, {report(4, {})}, 9).marks.at(0).number == 9);
}

TEST_CASE("an agent counts for the tenants its token reaches, and for no other") {
  const std::vector<sluice::sync::UsageCount> all{{"shop", "p", "allowed", 1},
                                                  {"bank", "p", "allowed", 2},
                                                  {"kiosk", "p", "allowed", 4},
                                                  {"removed", "p", "allowed", 8}};
  CHECK(batch_of(kShop, {report(1, all)}).out_of_scope == 14);
  CHECK(batch_of(kAcme, {report(1, all)}).out_of_scope == 12);
  const fleet::UsageBatch platform = batch_of(kPlatform, {report(1, all)});
  CHECK(platform.out_of_scope == 0);
  REQUIRE(platform.minutes.size() == 4);
  CHECK(platform.minutes[2].organization_id.empty());  // of the removed one
}

TEST_CASE("an agent whose clock is ahead counts for now, and none can make a sum overflow") {
  const std::vector<sluice::sync::UsageCount> many(2000, {"shop", "p", "allowed", sluice::sync::kMaxCount});
  const fleet::UsageBatch batch = batch_of(kAcme, {report(1, many, kNoon + 24h * 365)});
  REQUIRE(batch.minutes.size() == 1);
  CHECK(batch.minutes[0].begin == 1'900'000'800 + 3600);
  CHECK(batch.minutes[0].count == std::int64_t{1} << 60);
}

TEST_CASE("unmatched resources are kept by the hour, and only those of the agent's tenants") {
  auto one = report(1, {}, kNoon + 10min);
  one.unmatched = {{"shop", "GET:/carts", 2}, {"kiosk", "GET:/carts", 2}};
  auto two = report(2, {}, kNoon + 11min);
  two.unmatched = {{"shop", "GET:/carts", 3}};
  const fleet::UsageBatch batch = batch_of(kShop, {one, two});
  REQUIRE(batch.unmatched.size() == 1);
  CHECK(batch.unmatched[0].name == "GET:/carts");
  CHECK(batch.unmatched[0].count == 5);
  CHECK(batch.unmatched[0].begin % 3600 == 0);
  CHECK(batch.out_of_scope == 2);
}

TEST_CASE("reached quotas are those of the agent's tenants") {
  auto one = report(1, {}, kNoon);
  one.quotas.resize(2);
  one.quotas[0].tenant_id = "shop";
  one.quotas[1].tenant_id = "kiosk";
  const fleet::UsageBatch batch = batch_of(kShop, {one});
  REQUIRE(batch.quotas.size() == 1);
  CHECK(batch.quotas[0].reached == one.quotas[0]);
  CHECK(batch.quotas[0].organization_id == "acme");
  CHECK(batch.out_of_scope == 1);
}

TEST_CASE("of the uses of a key only the last one counts, and never one in the future") {
  auto one = report(1, {}, kNoon);
  one.keys = {"app", "other"};
  auto two = report(2, {}, kNoon + 5min);
  two.keys = {"app"};
  const fleet::UsageBatch batch = batch_of(kShop, {one, two});
  REQUIRE(batch.keys.size() == 2);
  CHECK(batch.keys[0].key_id == "app");
  CHECK(batch.keys[0].scope == fleet::scope_of(kShop));
  CHECK(batch.keys[0].used_at - batch.keys[1].used_at == 300);
  auto late = report(1, {}, kNoon + 24h * 365);
  late.keys = {"app"};
  const fleet::UsageBatch clamped = batch_of(kShop, {late});
  REQUIRE(clamped.keys.size() == 1);
  CHECK(clamped.keys[0].used_at < std::chrono::duration_cast<std::chrono::seconds>(late.to.time_since_epoch()).count());
}

TEST_CASE("utilization is added up by the minute, tenant and policy, and only of the agent's tenants") {
  auto one = report(1, {}, kNoon);
  one.utilization = {{.tenant_id = "shop", .policy_id = "p", .decisions = 3, .near_limit = 1, .used = 9'000},
                     {.tenant_id = "kiosk", .policy_id = "p", .decisions = 3, .near_limit = 1, .used = 9'000}};
  auto two = report(2, {}, kNoon + 30s);
  two.utilization = {{.tenant_id = "shop", .policy_id = "p", .decisions = 2, .near_limit = 2, .used = 20'000}};
  auto later = report(3, {}, kNoon + 1min);
  later.utilization = {{.tenant_id = "shop", .policy_id = "p", .decisions = 1, .near_limit = 0, .used = 0}};
  const fleet::UsageBatch batch = batch_of(kShop, {one, two, later});
  REQUIRE(batch.utilization.size() == 2);
  CHECK(batch.utilization[0].organization_id == "acme");
  CHECK(batch.utilization[0].utilization ==
        sluice::sync::Utilization{
            .tenant_id = "shop", .policy_id = "p", .decisions = 5, .near_limit = 3, .used = 29'000});
  CHECK(batch.utilization[1].begin == batch.utilization[0].begin + 60);
  CHECK(batch.utilization[1].utilization.decisions == 1);
}

TEST_CASE("throttled subjects are kept by the hour") {
  auto one = report(1, {}, kNoon + 10min);
  one.subjects = {{"shop", "p", "sha256:0011", 2}, {"kiosk", "p", "sha256:0011", 2}};
  auto two = report(2, {}, kNoon + 11min);
  two.subjects = {{"shop", "p", "sha256:0011", 3}};
  const fleet::UsageBatch batch = batch_of(kShop, {one, two});
  REQUIRE(batch.hours.size() == 1);
  CHECK(batch.hours[0].count == 5);
  CHECK(batch.hours[0].begin % 3600 == 0);
  CHECK(batch.out_of_scope == 2);
}
