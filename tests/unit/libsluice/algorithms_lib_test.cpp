// Each algorithm gives, through the library, what the limiter gives by itself.
#include <random>
#include <string>
#include <string_view>

#include <doctest/doctest.h>

#include "common/limiter/memory_store.hpp"
#include "common/objects/bundle_json.hpp"
#include "common/policy/snapshot.hpp"
#include "tests/unit/libsluice/engine_rig.hpp"
#include "tests/unit/limiter/limits.hpp"

namespace sluice {
namespace {

// The limiter with the limits of the same bundle.
class Bare {
 public:
  explicit Bare(const std::string& text) {
    const auto bundle = parse_bundle(text);
    REQUIRE(bundle);
    const auto built = policy::build_snapshot(*bundle, 1, 0);
    REQUIRE(built);
    snapshot_ = *built;
    program_ = snapshot_->tenants.find("shop")->policies.find("orders")->rulebook.program.get();
  }

  limiter::Outcome judge(std::int64_t now_us, std::uint32_t cost, int subject) {
    clock_.now = now_us;
    limiter::Call call = test::call_of(*program_, cost);
    call.keys[0] = fmt::format("sl:{{shop|{}}}:p=orders", subject);
    call.draw[1] = static_cast<unsigned char>(++calls_);
    call.draw[2] = static_cast<unsigned char>(calls_ >> 8);
    const auto outcome = counters_.judge(call);
    REQUIRE(outcome);
    return *outcome;
  }

 private:
  std::shared_ptr<const policy::Snapshot> snapshot_;
  const limiter::Program* program_ = nullptr;
  test::ManualClock clock_;
  limiter::MemoryCounters counters_{clock_};
  int calls_ = 0;
};

TEST_CASE("the library decides as the limiter does, with each algorithm") {
  constexpr std::string_view kLimits[] = {
      R"({"name":"a","algorithm":"fixed_window","limit":7,"window":"2s"})",
      R"({"name":"a","algorithm":"fixed_window","limit":7,"window":"2s","align":"first"})",
      R"({"name":"a","algorithm":"sliding_window","limit":7,"window":"2s"})",
      R"({"name":"a","algorithm":"sliding_window_log","limit":7,"window":"2s"})",
      R"({"name":"a","algorithm":"token_bucket","capacity":7,"refill":"3/s"})",
      R"({"name":"a","algorithm":"leaky_bucket","capacity":7,"leak":"3/s"})",
      R"({"name":"a","algorithm":"concurrency","limit":7,"lease_ttl":"2s"})",
      R"({"name":"a","algorithm":"quota","limit":300,"period":"hour"})",
      R"({"name":"a","algorithm":"token_bucket","capacity":5,"refill":"3/s"},
{"name":"b","algorithm":"fixed_window","limit":9,"window":"3s"})",
  };
  for (const std::string_view limits : kLimits) {
    CAPTURE(limits);
    const std::string bundle = bundle_of(limits);
    EngineRig rig(bundle);
    Bare bare(bundle);
    std::mt19937 random(7);  // NOLINT(bugprone-random-generator-seed): the same each time
    int denied = 0;
    for (int i = 0; i < 600; ++i) {
      rig.now_us += static_cast<std::int64_t>(random() % 400'000);
      const std::uint32_t cost = random() % 4;
      const int subject = static_cast<int>(random() % 2);
      const std::string name = fmt::format("user:{}", subject);
      const limiter::Outcome expected = bare.judge(rig.now_us, cost, subject);
      const v1::Decision& decision = rig.check({.resource = "GET:/orders", .subject = name, .cost = cost});
      REQUIRE(decision.status.ok());
      REQUIRE(decision.allowed == expected.allowed);
      REQUIRE(decision.limit == expected.report.limit);
      REQUIRE(decision.remaining == expected.report.remaining);
      REQUIRE(decision.reset_after.count() == expected.report.reset_after_us);
      REQUIRE(decision.retry_after.count() == (expected.allowed ? 0 : expected.report.retry_after_us));
      REQUIRE(decision.limit_name == (expected.binding == 0 ? "a" : "b"));
      denied += expected.allowed ? 0 : 1;
    }
    CHECK(denied > 20);
    CHECK(denied < 580);
  }
}

TEST_CASE("the actions of a policy reach the program") {
  const auto decide = [](std::string_view more) {
    EngineRig rig(bundle_of(fixed_window(1), more));
    rig.check({.resource = "GET:/orders", .subject = "a"});
    return rig.check({.resource = "GET:/orders", .subject = "a", .priority = "low", .request_id = "r"});
  };
  CHECK(decide(R"(,"action":"drop")").action == v1::Action::drop);
  CHECK(decide(R"(,"action":"downgrade","downgrade_to":"cheap")").downgrade_to == "cheap");
  CHECK(decide(R"(,"action":"downgrade","downgrade_to":"cheap")").allowed);
  CHECK(decide(R"(,"action":"sample","sample_rate":0.25)").sample_rate == 0.25);
  CHECK(decide(R"(,"action":"drop_low_priority")").action == v1::Action::drop_low_priority);
  CHECK_FALSE(decide(R"(,"action":"drop_low_priority")").allowed);
  const v1::Decision shadow = decide(R"(,"mode":"shadow")");
  CHECK(shadow.allowed);
  CHECK(shadow.shadow);
  CHECK_FALSE(shadow.would_allow);
  CHECK(shadow.reason == v1::Reason::shadow);
  CHECK(decide(R"(,"mode":"off")").reason == v1::Reason::mode_off);
  EngineRig delay(bundle_of(R"({"name":"burst","algorithm":"token_bucket","capacity":1,"refill":"1/s"})",
                            R"(,"action":"delay","max_delay":"10s")"));
  delay.check({.resource = "GET:/orders", .subject = "a"});
  CHECK(delay.check({.resource = "GET:/orders", .subject = "a"}).delay == std::chrono::seconds(1));
  CHECK(delay.decision.action == v1::Action::delay);
  CHECK(delay.decision.allowed);
}

}  // namespace
}  // namespace sluice
