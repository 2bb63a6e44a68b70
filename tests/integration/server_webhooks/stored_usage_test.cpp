// How servers take turns to look at usage, and what they read of it.
#include "server/webhooks/stored_usage.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include <pqxx/pqxx>

#include "tests/integration/server_webhooks/webhook_rig.hpp"

namespace sluice::server::test {
namespace {

using namespace std::chrono_literals;
using webhooks::Pace;
using webhooks::Turn;

constexpr Pace kAtOnce{.within_round = 0ms, .between_rounds = 0ms};

struct Usage : WebhookRig {
  std::optional<Turn> take_turn(const Pace& pace = kAtOnce) {
    return in_transaction([&](postgres::Transaction& tx) { return webhooks::take_turn(tx, pace); });
  }
  void end_turn(const std::string& after) {
    in_transaction([&](postgres::Transaction& tx) {
      webhooks::end_turn(tx, after);
      return true;
    });
  }
  // The tenants of the next turn, one a word; "…" if the round goes on.
  std::string next() {
    const auto turn = take_turn();
    std::string text;
    for (const auto& tenant : turn->tenants) text += fmt::format("{}:{} ", tenant.id, tenant.webhooks.size());
    return text + (turn->ends_round ? "." : "…");
  }

  // Usage of the tenant shop, so many minutes ago.
  void store(int ago, const std::string& policy, const std::string& outcome, int count) const {
    execute(
        fmt::format("INSERT INTO usage (minute, organization_id, tenant_id, policy_id, outcome, count) VALUES "
                    "(date_trunc('minute', now()) - interval '{} min', 'acme', 'shop', '{}', '{}', {})",
                    ago, policy, outcome, count));
  }
  // What is read of the tenant shop: "POLICY/OUTCOME=COUNT" by policy, outcome and time.
  std::string read(std::size_t max_rows = webhooks::kMaxUsageRows) {
    const auto turn = take_turn();
    webhooks::TenantUsage usage = in_transaction(
        [&](postgres::Transaction& tx) { return webhooks::read_usage(tx, turn->tenants.front(), max_rows); });
    std::ranges::sort(usage.counts, {}, [](const webhooks::MinuteCount& each) {
      return std::tie(each.policy_id, each.outcome, each.minute);
    });
    std::string text;
    for (const auto& each : usage.counts) text += fmt::format("{}/{}={} ", each.policy_id, each.outcome, each.count);
    return text;
  }
};

}  // namespace

TEST_CASE_FIXTURE(Usage, "one server at a time looks at usage, and not sooner than the pace allows") {
  const auto other = connect();
  {
    postgres::Transaction theirs(*other);
    theirs.enter(postgres::Scope::everything("webhooks"));
    REQUIRE(webhooks::take_turn(theirs, kAtOnce));
    CHECK_FALSE(take_turn());  // does not wait
    webhooks::end_turn(theirs, "");
    theirs.commit();
  }
  CHECK(take_turn());
  const Pace slow{.within_round = 0ms, .between_rounds = 1h};
  CHECK_FALSE(take_turn(slow));
  end_turn("bank");
  CHECK(take_turn(slow));  // the round goes on
  CHECK_FALSE(take_turn({.within_round = 1h, .between_rounds = 0ms}));
  execute("UPDATE webhook_looks SET looked_at = now() + interval '1 day'");  // the clock was set back
  CHECK(take_turn(slow));
}

TEST_CASE_FIXTURE(Usage, "a server that dies in its turn leaves it to another one") {
  make_webhook("shop", "alerts", R"("events":["denials"])");
  {
    const auto other = connect();
    postgres::Transaction theirs(*other);
    theirs.enter(postgres::Scope::everything("webhooks"));
    REQUIRE(webhooks::take_turn(theirs, kAtOnce));
    webhooks::end_turn(theirs, "shop");
  }
  CHECK(next() == "shop:1 .");
}

TEST_CASE_FIXTURE(Usage, "a round goes through all tenants whose webhooks are enabled and ask for events") {
  make_webhook("shop", "alerts", R"("events":["denials"])");
  make_webhook("shop", "more", R"("events":["failure_mode"])");
  make_webhook("shop", "off", R"("events":["denials"],"enabled":false)");
  make_webhook("bank", "tests", R"("events":[])");
  make_webhook("kiosk", "alerts", R"("events":["quota_80"])");
  CHECK(next() == "kiosk:1 shop:2 .");
  end_turn("kiosk");
  CHECK(next() == "shop:2 .");
  end_turn("shop");
  CHECK(next() == ".");
}

TEST_CASE_FIXTURE(Usage, "a turn has a bounded number of webhooks, and never a part of a tenant's") {
  execute(
      "INSERT INTO tenants (organization_id, tenant_id, id, version, document) SELECT 'acme', 't' || n, 't' || n, 1, "
      "'{}' FROM generate_series(100, 160) n");
  execute(
      "INSERT INTO webhooks (organization_id, tenant_id, id, version, document, secret_key, secret_salt) SELECT "
      "'acme', "
      "'t' || n, 'w' || w, 1, json_build_object('tenant_id', 't' || n, 'id', 'w' || w, 'url', 'https://x', 'events', "
      "json_build_array('denials')), '', '' FROM generate_series(100, 160) n, generate_series(1, 20) w");
  const auto first = take_turn();
  REQUIRE(first->tenants.size() == 49);
  CHECK_FALSE(first->ends_round);
  CHECK(std::ranges::all_of(first->tenants, [](const auto& tenant) { return tenant.webhooks.size() == 20; }));
  end_turn(first->tenants.back().id);
  const auto second = take_turn();
  CHECK(second->tenants.size() == 12);
  CHECK(second->ends_round);
}

TEST_CASE_FIXTURE(Usage, "only minutes that can make an event are read, and only as far back as events need") {
  make_webhook("shop", "alerts", R"("events":["denials","failure_mode"],"denied_percent":20,"denied_minutes":5)");
  make_webhook("shop", "strict", R"("events":["denials"],"denied_percent":10,"denied_minutes":30)");
  store(3, "quiet", "denied", 10);
  store(3, "quiet", "allowed", 90);
  store(3, "quiet", "shadow_denied", 900);
  store(3, "loud", "dropped", 11);
  store(3, "loud", "allowed", 89);
  store(4, "broken", "failed_open", 1);
  store(4, "broken", "allowed", 999);
  store(88, "loud", "denied", 1);  // 60 minutes, and 30 for a row of minutes
  store(91, "loud", "denied", 2);
  CHECK(read() == "broken/allowed=999 broken/failed_open=1 loud/allowed=89 loud/denied=1 loud/dropped=11 ");
}

TEST_CASE_FIXTURE(Usage, "of too much usage the newest whole minutes are read") {
  make_webhook("shop", "alerts", R"("events":["denials"])");
  for (const int ago : {3, 4, 5}) {
    store(ago, "loud", "denied", ago);
    store(ago, "loud", "dropped", 1);
  }
  CHECK(read(6 + 1) == "loud/denied=5 loud/denied=4 loud/denied=3 loud/dropped=1 loud/dropped=1 loud/dropped=1 ");
  CHECK(read(3) == "loud/denied=3 loud/dropped=1 ");
}

TEST_CASE_FIXTURE(Usage, "a reached quota is returned once, and only to tenants whose webhooks ask for it") {
  make_webhook("shop", "alerts", R"("events":["denials"])");
  execute(
      "INSERT INTO usage_quotas (organization_id, tenant_id, policy_id, plan_id, limit_name, counter, percent, quota, "
      "period_from, period_to, subject, used) VALUES ('acme', 'shop', 'orders', '', 'day', 'c', 80, 10, now(), now(), "
      "'', 8)");
  const auto quotas = [&] {
    const auto turn = take_turn();
    return in_transaction(
        [&](postgres::Transaction& tx) { return webhooks::read_usage(tx, turn->tenants.front()).quotas.size(); });
  };
  CHECK(quotas() == 0);
  make_webhook("shop", "quotas", R"("events":["quota_80"])");
  CHECK(quotas() == 1);
  CHECK(quotas() == 0);
}

}  // namespace sluice::server::test
