#include "server/webhooks/event.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "common/json/tree.hpp"
#include "server/webhooks/schedule.hpp"

using namespace sluice;
using namespace sluice::server::webhooks;
using namespace std::chrono_literals;

namespace {

const Seconds kNow = Seconds(1'900'001'400s);  // 10 minutes into an hour

Watched watched(std::vector<EventKind> events, std::int64_t percent = 10, std::int64_t minutes = 3) {
  Webhook webhook;
  webhook.tenant_id = "shop";
  webhook.id = "alerts";
  webhook.url = "https://x";
  webhook.events = std::move(events);
  webhook.denied_percent = percent;
  webhook.denied_minutes = minutes;
  return {webhook, Seconds{}};
}

// A minute so many minutes ago.
MinuteCount count(std::int64_t ago, std::string outcome, std::int64_t number, std::string policy = "orders") {
  return {std::chrono::floor<std::chrono::minutes>(kNow) - std::chrono::minutes(ago), "shop", std::move(policy),
          std::move(outcome), number};
}

std::vector<MinuteCount> denied_for(std::int64_t first, std::int64_t last, std::int64_t denied, std::int64_t allowed) {
  std::vector<MinuteCount> counts;
  for (std::int64_t ago = last; ago <= first; ++ago) {
    counts.push_back(count(ago, "denied", denied));
    counts.push_back(count(ago, "allowed", allowed));
  }
  return counts;
}

std::size_t number(const Watched& webhook, const std::vector<MinuteCount>& counts, Seconds now = kNow) {
  return detect({&webhook, 1}, counts, now).size();
}

}  // namespace

TEST_CASE("A policy that denied more than its share for long enough makes one event") {
  const Watched webhook = watched({EventKind::denials});
  const auto events = detect({&webhook, 1}, denied_for(5, 3, 11, 89), kNow);
  REQUIRE(events.size() == 1);
  CHECK(events[0].type == "denials");
  CHECK(events[0].tenant_id == "shop");
  CHECK(events[0].webhook_id == "alerts");
  json::Tree tree;
  const json::Value body = tree.parse(events[0].body).value();
  CHECK(body.text_of("id") == events[0].id);
  CHECK(body.text_of("tenant") == "shop");
  CHECK(body.get("data").text_of("policy_id") == "orders");
  CHECK(body.get("data").get("denied").text() == "33");
  CHECK(body.get("data").get("decided").text() == "300");
}

TEST_CASE("A share that is only reached, too few minutes, or a minute without checks make no event") {
  const Watched webhook = watched({EventKind::denials});
  CHECK(number(webhook, denied_for(5, 3, 10, 90)) == 0);
  CHECK(number(webhook, denied_for(4, 3, 50, 50)) == 0);
  auto gap = denied_for(5, 3, 50, 50);
  std::erase_if(gap, [](const MinuteCount& each) { return each.minute == count(4, "", 0).minute; });
  CHECK(number(webhook, gap) == 0);
}

TEST_CASE("A minute counts when the agents' reports of it have arrived") {
  const Watched webhook = watched({EventKind::denials});
  CHECK(number(webhook, denied_for(4, 2, 50, 50)) == 0);
  CHECK(number(webhook, denied_for(4, 2, 50, 50), kNow + 60s) == 1);
}

TEST_CASE("What goes on makes one event an hour, and repeated detection the same ids") {
  const Watched webhook = watched({EventKind::denials});
  const auto counts = denied_for(50, 3, 50, 50);
  const auto events = detect({&webhook, 1}, counts, kNow);
  REQUIRE(events.size() == 2);  // two hours have a part of it
  CHECK(events[0].id != events[1].id);
  const auto later = detect({&webhook, 1}, counts, kNow + 240s);
  REQUIRE(later.size() == 2);
  CHECK(later[0].id == events[0].id);
  CHECK(later[1].id == events[1].id);
}

TEST_CASE("Decisions by failure mode make an event in each window of 10 minutes, with the policy or without") {
  const Watched webhook = watched({EventKind::failure_mode});
  CHECK(number(webhook, {count(1, "allowed", 9), count(1, "denied", 9)}) == 0);
  for (const std::string outcome : {"failed_open", "failed_closed", "degraded_allowed", "degraded_denied"}) {
    CAPTURE(outcome);
    CHECK(number(webhook, {count(0, outcome, 1)}) == 1);
  }
  CHECK(number(webhook, {count(0, "failed_open", 1, "")}) == 1);
  CHECK(number(webhook, {count(0, "failed_open", 1), count(0, "failed_open", 1, "other")}) == 2);
  CHECK(number(webhook, {count(25, "failed_open", 1), count(14, "failed_open", 1), count(0, "failed_open", 1)}) == 3);
}

TEST_CASE("Shadow policies, other tenants, filtered policies, old minutes and disabled webhooks make no events") {
  const Watched both = watched({EventKind::failure_mode, EventKind::denials}, 10, 1);
  CHECK(number(both, {count(5, "shadow_denied", 50), count(5, "allowed", 1)}) == 0);
  MinuteCount foreign = count(5, "failed_open", 1);
  foreign.tenant_id = "forum";
  CHECK(number(both, {foreign}) == 0);
  CHECK(number(both, {count(62, "failed_open", 1), count(63, "denied", 1)}) == 0);
  CHECK(number(watched({}), {count(5, "failed_open", 1)}) == 0);
  Watched filtered = both;
  filtered.webhook.policies = {"carts"};
  CHECK(number(filtered, {count(5, "failed_open", 1), count(5, "denied", 1)}) == 0);
  Watched disabled = both;
  disabled.webhook.enabled = false;
  CHECK(number(disabled, {count(5, "failed_open", 1)}) == 0);
  Watched young = both;
  young.since = kNow - 120s;
  CHECK(number(young, {count(5, "failed_open", 1), count(5, "denied", 1)}) == 0);
  CHECK(number(both, {count(5, "no_policy_denied", 9, ""), count(5, "denied", 9, "")}) == 0);
}

TEST_CASE("Another webhook, kind, policy or window has another id") {
  Watched webhook = watched({EventKind::failure_mode, EventKind::denials}, 10, 1);
  const auto id_of = [&](const std::vector<MinuteCount>& counts) {
    return detect({&webhook, 1}, counts, kNow).at(0).id;
  };
  const std::string id = id_of({count(5, "failed_open", 1)});
  CHECK(id.size() == 36);
  CHECK(id == id_of({count(5, "failed_closed", 7)}));
  CHECK(id != id_of({count(25, "failed_open", 1)}));
  CHECK(id != id_of({count(5, "failed_open", 1, "carts")}));
  CHECK(id != id_of({count(5, "denied", 1)}));
  webhook.webhook.id = "other";
  CHECK(id != id_of({count(5, "failed_open", 1)}));
}

TEST_CASE("A test event is another one each time") {
  CHECK(test_event("shop", "alerts", kNow).id != test_event("shop", "alerts", kNow).id);
  CHECK(test_event("shop", "alerts", kNow).body.contains(R"("type":"test")"));
}

TEST_CASE("The delay doubles up to an hour, and half of it is random") {
  CHECK(retry_delay(1, 0) == 2'500ms);
  CHECK(retry_delay(1, 1) == 5'000ms);
  CHECK(retry_delay(2, 1) == 10s);
  CHECK(retry_delay(10, 1) == 2'560s);
  CHECK(retry_delay(11, 1) == 1h);
  CHECK(retry_delay(100'000, 1) == 1h);
  CHECK(retry_delay(100'000, 0) == 30min);
}

TEST_CASE("A receiver that is down for an hour is tried about ten times, and soon after it is back") {
  std::chrono::milliseconds time{0};
  int attempts = 1;
  for (; time < 1h; ++attempts) time += retry_delay(attempts, 1.0);
  CHECK(attempts <= 12);
  CHECK(time < 2h);
}

namespace {

QuotaCount quota_count(std::int64_t percent = 80) {
  return {.stored_at = kNow - 60s,
          .tenant_id = "shop",
          .policy_id = "orders",
          .plan_id = "gold",
          .limit = "day",
          .counter = "3f00",
          .subject = "user:42",
          .percent = percent,
          .quota = 10,
          .used = 8,
          .from = kNow - 10h,
          .to = kNow + 14h};
}

std::vector<Event> quota_events(const Watched& webhook, const QuotaCount& quota, Seconds now = kNow) {
  return detect_quotas({&webhook, 1}, {&quota, 1}, now);
}

}  // namespace

TEST_CASE("A quota that is used up to a share makes an event for each webhook that asks for this share") {
  const Watched webhook = watched({EventKind::quota_80});
  const auto events = quota_events(webhook, quota_count());
  REQUIRE(events.size() == 1);
  CHECK(events[0].type == "quota_80");
  json::Tree tree;
  const json::Value body = tree.parse(events[0].body).value();
  CHECK(body.text_of("id") == events[0].id);
  CHECK(body.get("data").text_of("subject") == "user:42");
  CHECK(body.get("data").text_of("limit") == "day");
  CHECK(body.get("data").get("used").text() == "8");
  CHECK(quota_events(webhook, quota_count(100)).empty());
  CHECK(quota_events(webhook, quota_count(90)).empty());
  CHECK(quota_events(watched({EventKind::quota_100}), quota_count(100)).at(0).type == "quota_100");
  CHECK(quota_events(watched({EventKind::failure_mode, EventKind::denials}), quota_count()).empty());
}

TEST_CASE("A quota's event has one id for its counter, limit and period, whoever computes it and when") {
  const Watched webhook = watched({EventKind::quota_80, EventKind::quota_100});
  const auto id = [&](const QuotaCount& quota, Seconds now = kNow) {
    return quota_events(webhook, quota, now).at(0).id;
  };
  const std::string first = id(quota_count());
  CHECK(id(quota_count(), kNow + 30s) == first);
  const auto changed = [&](auto change) {
    QuotaCount quota = quota_count();
    change(quota);
    return id(quota) != first;
  };
  CHECK_FALSE(changed([](QuotaCount& quota) { quota.used = 9; }));
  CHECK(changed([](QuotaCount& quota) { quota.from += 24h; }));
  CHECK(changed([](QuotaCount& quota) { quota.counter = "3f01"; }));
  CHECK(changed([](QuotaCount& quota) { quota.limit = "week"; }));
  CHECK(changed([](QuotaCount& quota) { quota.plan_id = "free"; }));
  CHECK(changed([](QuotaCount& quota) { quota.policy_id = "carts"; }));
  CHECK(changed([](QuotaCount& quota) { quota.quota = 20; }));
  CHECK(changed([](QuotaCount& quota) { quota.percent = 100; }));
}

TEST_CASE("A webhook hears of quotas of its tenant and its policies only, from when it exists") {
  Watched webhook = watched({EventKind::quota_80});
  webhook.webhook.policies = {"carts"};
  CHECK(quota_events(webhook, quota_count()).empty());
  webhook.webhook.policies = {"orders"};
  CHECK(quota_events(webhook, quota_count()).size() == 1);
  webhook.since = kNow - 59s;
  CHECK(quota_events(webhook, quota_count()).empty());
  QuotaCount other = quota_count();
  other.tenant_id = "bank";
  CHECK(quota_events(watched({EventKind::quota_80}), other).empty());
}
