#include "common/telemetry/decision_metrics.hpp"

#include <doctest/doctest.h>

#include <string>

#include "tests/unit/telemetry/scraped.hpp"

using namespace sluice;
using namespace sluice::telemetry;

namespace {

std::string decisions(const std::string& tenant, const std::string& outcome, const std::string& reason,
                      const std::string& policy = "") {
  return R"(sluice_decisions_total{tenant=")" + tenant + R"(",outcome=")" + outcome + R"(",reason=")" + reason + "\"" +
         (policy.empty() ? "" : R"(,policy=")" + policy + "\"") + "}";
}

}  // namespace

TEST_CASE("Decisions are counted by tenant, outcome and reason, and add up to all of them") {
  DrivenClock clock;
  Metrics metrics(options(), clock);
  DecisionCounters& shop = metrics.decisions.counters("shop");
  DecisionCounters& bank = metrics.decisions.counters("bank");
  for (int i = 0; i < 3; ++i) shop.count(true, Reason::within_limit);
  shop.count(false, Reason::limit_exceeded);
  shop.count(true, Reason::limit_exceeded);  // action sample, allow …: over the limit and let through
  shop.count(false, Reason::fail_closed);
  bank.count(true, Reason::fail_open);
  metrics.decisions.counters("").count(false, Reason::overload);

  const Scraped scraped(metrics);
  CHECK(scraped[decisions("shop", "allowed", "within_limit")] == 3);
  CHECK(scraped[decisions("shop", "denied", "limit_exceeded")] == 1);
  CHECK(scraped[decisions("shop", "allowed", "limit_exceeded")] == 1);
  CHECK(scraped[decisions("shop", "denied", "fail_closed")] == 1);
  CHECK(scraped[decisions("bank", "allowed", "fail_open")] == 1);
  CHECK(scraped[decisions("", "denied", "overload")] == 1);
  CHECK(scraped.sum("sluice_decisions_total{") == 8);
}

TEST_CASE("Every reason has a series of its own") {
  DrivenClock clock;
  Metrics metrics(options(), clock);
  DecisionCounters& shop = metrics.decisions.counters("shop");
  for (std::size_t i = 0; i < kReasons; ++i) shop.count(true, static_cast<Reason>(i));
  const Scraped scraped(metrics);
  for (std::size_t i = 0; i < kReasons; ++i) {
    const std::string reason(to_string(static_cast<Reason>(i)));
    CAPTURE(reason);
    CHECK(scraped[decisions("shop", "allowed", reason)] == 1);
  }
}

TEST_CASE("A tenant's two usual series exist before the first decision, so that a rate has where to start") {
  DrivenClock clock;
  Metrics metrics(options(), clock);
  metrics.decisions.counters("shop");
  const Scraped scraped(metrics);
  CHECK(scraped[decisions("shop", "allowed", "within_limit")] == 0);
  CHECK(scraped[decisions("shop", "denied", "limit_exceeded")] == 0);
  CHECK_FALSE(scraped[decisions("shop", "allowed", "fail_open")].has_value());
}

TEST_CASE("A tenant's counters stay where they are and keep counting when they are asked for again") {
  DrivenClock clock;
  Metrics metrics(options(), clock);
  DecisionCounters& first = metrics.decisions.counters("t0");
  first.count(true, Reason::within_limit);
  for (int i = 0; i < 3000; ++i) metrics.decisions.counters("t" + std::to_string(i));
  CHECK(&metrics.decisions.counters("t0") == &first);
  CHECK(metrics.decisions.counters("t0").value(true, Reason::within_limit) == 1);
}

TEST_CASE("Policies are not told apart unless asked for") {
  DrivenClock clock;
  Metrics metrics(options(), clock);
  CHECK(&metrics.decisions.counters("shop", "a") == &metrics.decisions.counters("shop", "b"));
  metrics.decisions.counters("shop", "a").count(true, Reason::within_limit);
  CHECK(Scraped(metrics)[decisions("shop", "allowed", "within_limit")] == 1);
  CHECK_FALSE(Scraped(metrics).mentions("policy="));
}

TEST_CASE("The policy label is capped at 200 policies, the rest is other, and nothing is lost") {
  DrivenClock clock;
  MetricsOptions with_label = options();
  with_label.policy_label = true;
  Metrics metrics(with_label, clock);
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 300; ++i) {
      metrics.decisions.counters("shop", "p" + std::to_string(i)).count(true, Reason::within_limit);
    }
    metrics.decisions.counters("shop").count(true, Reason::no_policy);
  }
  metrics.decisions.counters("bank", "late").count(true, Reason::within_limit);

  const Scraped scraped(metrics);
  CHECK(scraped[decisions("shop", "allowed", "within_limit", "p0")] == 2);
  CHECK(scraped[decisions("shop", "allowed", "within_limit", "p199")] == 2);
  CHECK_FALSE(scraped[decisions("shop", "allowed", "within_limit", "p200")].has_value());
  CHECK(scraped[decisions("shop", "allowed", "within_limit", "other")] == 200);
  CHECK(scraped[decisions("bank", "allowed", "within_limit", "other")] == 1);
  CHECK(scraped[decisions("shop", "allowed", "no_policy")] == 2);
  CHECK(scraped.sum("sluice_decisions_total{") == 603);
}

TEST_CASE("A label's value is escaped") {
  DrivenClock clock;
  Metrics metrics(options(), clock);
  metrics.decisions.counters("a\"b\\c\nd");
  CHECK(Scraped(metrics).mentions(R"(tenant="a\"b\\c\nd")"));
}

TEST_CASE("Overload is counted by tenant and cause; of a tenant, only what happened is exposed") {
  DrivenClock clock;
  Metrics metrics(options(), clock);
  TenantCounters::Row& shop = metrics.overloads.row("shop");
  shop.count(1);
  shop.count(1);
  metrics.overloads.row("").count(0);
  CHECK(&metrics.overloads.row("shop") == &shop);
  const Scraped scraped(metrics);
  CHECK(scraped[R"(sluice_overload_total{tenant="shop",cause="matching"})"] == 2);
  CHECK(scraped[R"(sluice_overload_total{tenant="",cause="in_flight"})"] == 1);
  CHECK(scraped.sum("sluice_overload_total{") == 3);
  CHECK(scraped.mentions(R"(tenant="",cause="matching"} 0)"));
  CHECK_FALSE(scraped.mentions(R"(tenant="shop",cause="in_flight")"));
}

TEST_CASE("The tenant label is capped at 2,000 tenants in each metric, the rest is other, and nothing is lost") {
  DrivenClock clock;
  MetricsOptions with_label = options();
  with_label.policy_label = true;
  Metrics metrics(with_label, clock);
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 2500; ++i) {
      const std::string tenant = "t" + std::to_string(i);
      metrics.decisions.counters(tenant).count(true, Reason::within_limit);
      metrics.decisions.counters(tenant, "p").count(true, Reason::within_limit);
      metrics.unmatched.row(tenant).count(0);
    }
  }
  const Scraped scraped(metrics);
  CHECK(scraped[decisions("t1999", "allowed", "within_limit")] == 2);
  CHECK_FALSE(scraped[decisions("t2000", "allowed", "within_limit")].has_value());
  CHECK(scraped[decisions("other", "allowed", "within_limit")] == 1000);
  CHECK(scraped[R"(sluice_unmatched_total{tenant="other"})"] == 1000);
  CHECK(scraped.sum("sluice_decisions_total{") == 10'000);
  CHECK(scraped.sum("sluice_unmatched_total{") == 5000);
}

TEST_CASE("What shadows find is counted under the shadow's policy, which has no decisions of its own by that") {
  DrivenClock clock;
  MetricsOptions with_label = options();
  with_label.policy_label = true;
  Metrics metrics(with_label, clock);
  DecisionCounters& shadow = metrics.decisions.counters("shop", "trial");
  shadow.count_shadow(true);
  shadow.count_shadow(true);
  shadow.count_shadow(false);
  const std::string shop = R"(sluice_shadow_decisions_total{tenant="shop",outcome=")";
  CHECK(Scraped(metrics)[shop + R"(over_limit",policy="trial"})"] == 2);
  CHECK(Scraped(metrics)[shop + R"(within_limit",policy="trial"})"] == 1);
  CHECK(Scraped(metrics)[R"(sluice_shadow_decisions_total{tenant="",outcome="over_limit"})"] == 0);
  CHECK_FALSE(Scraped(metrics)[decisions("shop", "allowed", "within_limit", "trial")].has_value());
  shadow.count(true, Reason::shadow);
  CHECK(Scraped(metrics)[decisions("shop", "allowed", "shadow", "trial")] == 1);
}
