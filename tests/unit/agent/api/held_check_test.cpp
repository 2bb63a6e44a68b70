// Checks that the agent holds, without sockets and timers: the test wakes the waiting room.
#include "tests/unit/agent/api/api_rig.hpp"

namespace sluice::agent::api {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

constexpr const char* kPlans = R"("plans":[
  {"id":"window","tenant_id":"shop","key_by":"subject","limits":[
    {"name":"w","algorithm":"fixed_window","limit":1,"window":"10s","align":"first"}]},
  {"id":"delaying","tenant_id":"shop","key_by":"subject","action":"delay","max_delay":"20s","limits":[
    {"name":"w","algorithm":"fixed_window","limit":1,"window":"10s","align":"first"}]},
  {"id":"debts","tenant_id":"shop","key_by":"subject","action":"delay","max_delay":"2s","limits":[
    {"name":"b","algorithm":"token_bucket","capacity":1,"refill":"1/1s"}]},
  {"id":"sampling","tenant_id":"shop","key_by":"subject","action":"sample","sample_rate":0.5,"limits":[
    {"name":"pool","algorithm":"concurrency","limit":1,"lease_ttl":"1h"}]},
  {"id":"pool","tenant_id":"shop","key_by":"subject","limits":[
    {"name":"pool","algorithm":"concurrency","limit":1,"lease_ttl":"1h"}]}])";

struct HeldRig : ApiRig {
  explicit HeldRig(RigOptions options = {}) : ApiRig(kPlans, R"(,"plan_calls":true)", options) {}

  std::uint64_t ask(const std::string& body) { return send("POST", "/v1/check", body, {{"x-api-key", shop_key}}); }
  std::uint64_t ask_plan(const std::string& plan, const std::string& more = "") {
    return ask(R"({"plan_id":")" + plan + R"(","subject":"u")" + more + "}");
  }
  bool answered(std::uint64_t slot) { return answers.contains(slot); }
  void wake_in(std::chrono::milliseconds time) { waiting_room.wake(steady_clock::now() + time); }
  double count(const std::string& outcome) {
    const std::string series = R"(sluice_held_checks_total{tenant="shop",outcome=")" + outcome + R"("} )";
    const std::string text = metrics.render();
    const std::size_t at = text.find(series);
    return at == std::string::npos ? 0 : std::stod(text.substr(at + series.size()));
  }
};

}  // namespace

TEST_CASE("a held check asks the store once, when its limit frees") {
  HeldRig rig;
  CHECK(rig.answers[rig.ask_plan("window")].status == 200);
  const auto held = rig.ask_plan("window", R"(,"wait":"15s")");
  CHECK_FALSE(rig.answered(held));
  CHECK(rig.store.judgements == 2);
  CHECK(rig.in_flight.count() == 0);
  CHECK(rig.waiting.count() == 1);
  rig.wake_in(9s);
  CHECK(rig.store.judgements == 2);
  rig.clock.now += 10'000'000;
  rig.wake_in(12s);
  CHECK(rig.store.judgements == 3);
  REQUIRE(rig.answered(held));
  CHECK(rig.answers[held].status == 200);
  CHECK(rig.answers[held].has(R"("action":"allow","reason":"within_limit")"));
  CHECK(rig.answers[held].has(R"("delay_ms":0,"waited_ms":)"));
  CHECK(rig.waiting.count() == 0);
  CHECK(rig.count("allowed") == 1);
}

TEST_CASE("the action delay holds windows and lets buckets go into debt") {
  HeldRig rig;
  rig.ask_plan("delaying");
  CHECK_FALSE(rig.answered(rig.ask_plan("delaying")));
  rig.ask_plan("debts");
  const Answer owing = rig.answers[rig.ask_plan("debts")];
  CHECK(owing.has(R"("action":"delay")"));
  rig.ask_plan("debts");
  CHECK(rig.answers[rig.ask_plan("debts")].status == 429);  // beyond max_delay, as ever
  CHECK_FALSE(rig.answered(rig.ask_plan("debts", R"(,"wait":"5s")")));
}

TEST_CASE("the check's own wait replaces max_delay, and 0 is no wait") {
  HeldRig rig;
  rig.ask_plan("delaying");
  CHECK(rig.answers[rig.ask_plan("delaying", R"(,"wait":0)")].status == 429);
  CHECK(rig.answers[rig.ask_plan("delaying", R"(,"wait":"5s")")].status == 429);  // it fits in 10 s
}

TEST_CASE("a check that comes while others wait stands in line without asking the store") {
  HeldRig rig;
  rig.ask_plan("window");
  rig.ask_plan("window", R"(,"wait":"15s")");
  const int before = rig.store.judgements;
  rig.clock.now += 10'000'000;  // it would fit now
  const auto second = rig.ask_plan("window", R"(,"wait":"25s")");
  CHECK_FALSE(rig.answered(second));
  CHECK(rig.store.judgements == before);
  CHECK(rig.answers[rig.ask_plan("window", R"(,"wait":"15s","cost":0)")].status == 200);  // a read waits for nobody
  CHECK(rig.answers[rig.ask_plan("window", R"(,"wait":"1s","subject":"v")")].status == 400);
}

TEST_CASE("a check without wait is not held behind those that wait") {
  HeldRig rig;
  rig.ask_plan("window");
  rig.ask_plan("window", R"(,"wait":"15s")");
  CHECK(rig.answers[rig.ask_plan("window")].status == 429);
  rig.clock.now += 10'000'000;
  CHECK(rig.answers[rig.ask_plan("window")].status == 200);
}

TEST_CASE("a check that is denied in line has the numbers of the check before it") {
  HeldRig rig;
  rig.ask_plan("pool");
  rig.ask_plan("pool", R"(,"wait":"20s")");
  const auto second = rig.ask_plan("pool", R"(,"wait":"5s","explain":true)");
  rig.store.hold = true;  // the first asks now, and gets no answer
  rig.wake_in(6s);
  REQUIRE(rig.answered(second));
  CHECK(rig.answers[second].status == 429);
  CHECK(rig.answers[second].has(R"("limit_name":"pool")"));
  CHECK(rig.answers[second].has(R"("limits":[])"));
  CHECK(rig.answers[second].headers.find("Retry-After: 3600\r\n") != std::string::npos);
  CHECK(rig.count("timed_out") == 1);
  rig.store.hold = false;
  rig.store.let_go();
}

TEST_CASE("a check that finds no room behind others is denied as they were") {
  HeldRig rig({.max_waiting = 1});
  rig.ask_plan("window");
  rig.ask_plan("window", R"(,"wait":"15s")");
  const int before = rig.store.judgements;
  const Answer full = rig.answers[rig.ask_plan("window", R"(,"wait":"15s")")];
  CHECK(full.status == 429);
  CHECK(full.has(R"("limit":1,"remaining":0)"));
  CHECK_FALSE(full.has("waited_ms"));
  CHECK(rig.store.judgements == before);
  CHECK(rig.count("full") == 1);
}

TEST_CASE("a failed store answers the first, and those behind it at once") {
  HeldRig rig;
  rig.ask_plan("window");
  const auto first = rig.ask_plan("window", R"(,"wait":"15s")");
  const auto second = rig.ask_plan("window", R"(,"wait":"25s")");
  rig.store.failing = limiter::StoreError{limiter::StoreFault::timeout, false};
  rig.wake_in(12s);
  rig.wake_in(12s);
  REQUIRE(rig.answered(first));
  REQUIRE(rig.answered(second));
  CHECK(rig.answers[first].status == 503);
  CHECK(rig.answers[second].status == 503);
  CHECK(rig.count("failed") == 2);
  CHECK(rig.waiting.count() == 0);
}

TEST_CASE("a held check finds no place in flight and gets overload at once") {
  HeldRig rig({.max_in_flight = 1});
  rig.ask_plan("window");
  const auto held = rig.ask_plan("window", R"(,"wait":"15s")");
  rig.store.hold = true;
  const auto busy = rig.ask(R"({"plan_id":"window","subject":"other"})");
  rig.wake_in(12s);
  REQUIRE(rig.answered(held));
  CHECK(rig.answers[held].status == 503);
  CHECK(rig.answers[held].has(R"("reason":"overload")"));
  CHECK(rig.answers[held].has(R"("waited_ms":)"));
  rig.store.let_go();
  CHECK(rig.answered(busy));
}

TEST_CASE("a caller that leaves is not charged and its check ends, also while it asks") {
  HeldRig rig;
  rig.ask_plan("pool");
  const auto waits = rig.ask_plan("pool", R"(,"wait":"20s")");
  rig.asker.leave(waits);
  CHECK(rig.answers[waits].status == 429);
  CHECK(rig.waiting.count() == 0);
  const auto asks = rig.ask_plan("pool", R"(,"wait":"20s")");
  rig.store.hold = true;
  rig.wake_in(1s);
  rig.asker.leave(asks);
  CHECK_FALSE(rig.answered(asks));
  rig.store.hold = false;
  rig.store.let_go();
  CHECK(rig.answers[asks].status == 429);
  CHECK(rig.waiting.count() == 0);
  CHECK(rig.count("left") == 2);
}

TEST_CASE("a check whose caller has left before it would be held is denied at once") {
  HeldRig rig;
  rig.ask_plan("window");
  rig.asker.all_left = true;
  CHECK(rig.answers[rig.ask_plan("window", R"(,"wait":"15s")")].status == 429);
  CHECK(rig.waiting.count() == 0);
  CHECK(rig.count("left") == 1);
}

TEST_CASE("a drained agent answers held checks with the denial that they got, and holds no more") {
  HeldRig rig;
  rig.ask_plan("window");
  const auto held = rig.ask_plan("window", R"(,"wait":"15s")");
  rig.waiting_room.close();
  REQUIRE(rig.answered(held));
  CHECK(rig.answers[held].status == 429);
  CHECK(rig.answers[held].headers.find("Retry-After: 10\r\n") != std::string::npos);
  CHECK(rig.answers[rig.ask_plan("window", R"(,"wait":"15s")")].status == 429);
  CHECK(rig.count("drained") == 1);
}

TEST_CASE("a shadow is judged once, however often a held check asks") {
  HeldRig rig;
  rig.load(R"("policies":[
    {"id":"shadow","tenant_id":"shop","scope":{"resource":"r"},"key_by":["subject"],"mode":"shadow","priority":1,
     "limits":[{"name":"s","algorithm":"fixed_window","limit":9,"window":"1h"}]},
    {"id":"enforced","tenant_id":"shop","scope":{"resource":"r"},"key_by":["subject"],
     "limits":[{"name":"pool","algorithm":"concurrency","limit":1,"lease_ttl":"1h"}]}])");
  rig.ask(R"({"resource":"r","subject":"u"})");
  CHECK(rig.store.judgements == 2);
  rig.ask(R"({"resource":"r","subject":"u","wait":"20s"})");
  CHECK(rig.store.judgements == 4);
  rig.wake_in(280ms);
  CHECK(rig.store.judgements > 4);
  const Answer read = rig.answers[rig.ask(R"({"resource":"r","subject":"u","cost":0})")];
  CHECK(read.has(R"("shadow_result":{"allowed":true,"reason":"within_limit","limit":9,"remaining":7)"));
}

TEST_CASE("what the action sample has denied is not drawn again while it is held") {
  HeldRig rig;
  rig.ask_plan("sampling");
  int held = 0;
  for (int i = 0; i < 40 && held < 5; ++i) held += rig.answered(rig.ask_plan("sampling", R"(,"wait":"20s")")) ? 0 : 1;
  CHECK(held == 5);
  const std::size_t before = rig.answers.size();
  for (int i = 0; i < 12; ++i) rig.wake_in(280ms);
  CHECK(rig.store.judgements >= 12);
  CHECK(rig.answers.size() == before);
}

TEST_CASE("only checks that were not held are in the histogram of latencies") {
  HeldRig rig;
  const auto counted = [&rig] {
    const std::string series = "sluice_decision_duration_seconds_count ";
    const std::string text = rig.metrics.render();
    return std::stod(text.substr(text.find("\n" + series) + 1 + series.size()));
  };
  rig.ask_plan("window");
  CHECK(counted() == 1);
  const auto held = rig.ask_plan("window", R"(,"wait":"15s")");
  rig.clock.now += 10'000'000;
  rig.wake_in(12s);
  CHECK(rig.answered(held));
  CHECK(counted() == 1);
}

TEST_CASE("wait in a batch is refused, and a batch is never held") {
  HeldRig rig;
  rig.ask_plan("delaying");
  const Answer answer = rig.post("/v1/check/batch", R"({"checks":[{"plan_id":"window","subject":"u","wait":"2s"},
    {"plan_id":"delaying","subject":"u"}]})");
  CHECK(answer.status == 200);
  CHECK(answer.has(R"("status":422)"));
  CHECK(answer.has(R"("pointer":"/checks/0/wait","detail":"must not be in a batch)"));
  CHECK(answer.has(R"("allowed":false,"action":"deny","reason":"limit_exceeded")"));
  CHECK(rig.waiting.count() == 0);
}

}  // namespace sluice::agent::api
