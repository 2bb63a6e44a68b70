#include "engine/policies/policy_metrics.hpp"

#include <doctest/doctest.h>

#include <string>

#include "tests/unit/policy/policy_helpers.hpp"
#include "tests/unit/telemetry/scraped.hpp"

using namespace sluice;
using namespace sluice::policies;
using policy::snapshot_of;
using telemetry::Scraped;

namespace {

struct Rig {
  Rig() {
    registry.add(PolicyMetrics::metric_table(), metrics);
    registry.add(configured);
    registry.add(windows);
    registry.add(PolicyMetrics::listing_table(), metrics);
  }
  telemetry::DrivenClock clock;
  PolicyMetrics metrics;
  const ConfiguredLimits configured{metrics};
  const LimitWindows windows{metrics, clock};
  telemetry::Registry registry;
};

std::string labels(const std::string& policy, const std::string& plan, const std::string& limit,
                   const std::string& algorithm) {
  return R"({tenant="shop",policy=")" + policy + R"(",plan=")" + plan + R"(",limit=")" + limit + R"(",algorithm=")" +
         algorithm + "\"}";
}

constexpr const char* kObjects = R"("plans":[{"id":"pro","limits":[
    {"name":"burst","algorithm":"token_bucket","capacity":10,"refill":"1/s"},
    {"name":"running","algorithm":"concurrency","limit":2,"lease_ttl":"30s"}]}],
  "policies":[
    {"id":"a","scope":{"resource":["x","y"]},"plan_id":"pro","match_expr":"priority == 'low'"},
    {"id":"b","scope":{"service":"z"},"limits":[{"name":"day","algorithm":"quota","limit":7,"period":"day"}]}])";

// One plan with `limits` limits, and `policies` policies on it.
std::string many(int limits, int policies) {
  std::string text = R"("plans":[{"id":"wide","limits":[)";
  for (int i = 0; i < limits; ++i) {
    text += (i > 0 ? "," : "") + std::string(R"({"name":"l)") + std::to_string(i) +
            R"(","algorithm":"fixed_window","limit":5,"window":"1m"})";
  }
  text += R"(]}],"policies":[)";
  for (int i = 0; i < policies; ++i) {
    text += (i > 0 ? "," : "") + std::string(R"({"id":"p)") + std::to_string(10'000 + i) +
            R"(","scope":{"resource":"r)" + std::to_string(i) + R"("},"plan_id":"wide"})";
  }
  return text + "]";
}

}  // namespace

TEST_CASE("Each limit of policies and plans is a gauge, with its window where it has one") {
  Rig rig;
  rig.metrics.set_snapshot(snapshot_of(kObjects));
  const Scraped scraped(rig.registry);
  for (const std::string owner : {"a", ""}) {
    CAPTURE(owner);
    CHECK(scraped["sluice_limit_configured" + labels(owner, "pro", "burst", "token_bucket")] == 10);
    CHECK(scraped["sluice_limit_window_seconds" + labels(owner, "pro", "burst", "token_bucket")] == 10);
    CHECK(scraped["sluice_limit_configured" + labels(owner, "pro", "running", "concurrency")] == 2);
    CHECK_FALSE(scraped["sluice_limit_window_seconds" + labels(owner, "pro", "running", "concurrency")].has_value());
  }
  CHECK(scraped["sluice_limit_configured" + labels("b", "", "day", "quota")] == 7);
  CHECK(scraped["sluice_limit_window_seconds" + labels("b", "", "day", "quota")] == 86'400);
  CHECK(scraped["sluice_limit_configured_omitted"] == 0);
}

TEST_CASE("The number of objects of each kind is that of the snapshot in force") {
  Rig rig;
  CHECK_FALSE(Scraped(rig.registry).mentions("sluice_snapshot_objects"));
  rig.metrics.set_snapshot(snapshot_of(kObjects));
  const Scraped scraped(rig.registry);
  for (const auto& [kind, count] : {std::pair("organizations", 1),
                                    {"tenants", 1},
                                    {"plans", 1},
                                    {"policies", 2},
                                    {"keys", 0},
                                    {"expressions", 1},
                                    {"overridden_counters", 0}}) {
    CAPTURE(kind);
    CHECK(scraped[R"(sluice_snapshot_objects{kind=")" + std::string(kind) + "\"}"] == count);
  }
  CHECK(scraped["sluice_snapshot_index_entries"] == 3);  // x, y, z
  rig.metrics.set_snapshot(nullptr);
  CHECK_FALSE(Scraped(rig.registry).mentions("sluice_snapshot_objects"));
  CHECK_FALSE(Scraped(rig.registry).mentions("sluice_limit_configured{"));
}

TEST_CASE("At most 1,000 limits are listed, those of the first policies by id, and the other owners are counted") {
  Rig rig;
  rig.metrics.set_snapshot(snapshot_of(many(16, 100)));
  const Scraped scraped(rig.registry);
  CHECK(rig.metrics.listing()->limits.size() == 992);  // 62 policies of 16
  CHECK(scraped["sluice_limit_configured" + labels("p10061", "wide", "l15", "fixed_window")] == 5);
  CHECK_FALSE(scraped["sluice_limit_configured" + labels("p10062", "wide", "l0", "fixed_window")].has_value());
  CHECK(scraped["sluice_limit_configured_omitted"] == 39);  // 38 policies and the plan
}

TEST_CASE("A new snapshot is listed anew, and an unchanged one is listed once") {
  Rig rig;
  rig.metrics.set_snapshot(snapshot_of(many(1, 3)));
  const auto first = rig.metrics.listing();
  CHECK(rig.metrics.listing() == first);
  rig.metrics.set_snapshot(snapshot_of(many(1, 5)));
  CHECK(rig.metrics.listing()->limits.size() == first->limits.size() + 2);
}

TEST_CASE("The metrics keep no snapshot that is not in force any more") {
  Rig rig;
  auto snapshot = snapshot_of(kObjects);
  rig.metrics.set_snapshot(snapshot);
  CHECK(Scraped(rig.registry).mentions("sluice_limit_configured{"));
  rig.metrics.set_snapshot(snapshot_of(kObjects));
  CHECK(snapshot.use_count() == 1);
}
