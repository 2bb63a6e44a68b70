#include "common/limiter/memory_store.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <limits>
#include <thread>

#include "common/limiter/algorithms/lease_set.hpp"
#include "tests/unit/limiter/limits.hpp"

using namespace sluice;
using namespace sluice::test;
using namespace std::chrono_literals;
using limiter::LeaseRef;
using limiter::MemoryCounters;
using limiter::OverrideEntry;
using limiter::Program;

namespace {

limiter::Call call_for(const Program& program, const std::string& subject, std::uint32_t cost) {
  limiter::Call call = call_of(program, cost);
  call.keys[0] = "sl:{t|subject=" + subject + "}:p=x";
  return call;
}

LeaseRef lease_of(const limiter::Call& call, double ttl) {
  const std::string_view draw(reinterpret_cast<const char*>(call.draw.data()), call.draw.size());
  return {call.keys[0], call.program->limits[0].name, limiter::lease_member(draw, call.costs[0], ttl)};
}

}  // namespace

TEST_CASE("memory forgets keys whose time is over while new ones come") {
  ManualClock clock;
  MemoryCounters counters(clock, 1);
  const Program program = limiter::compile({bucket("a", 5, {1, 1'000'000})}, {});
  for (int i = 0; i < 20'000; ++i) {
    counters.judge(call_for(program, std::to_string(i), 1));
    clock.now += 10'000;  // a key lives a second: about a hundred live at any time
  }
  CHECK(counters.size() < 1'000);
}

TEST_CASE("a sweep keeps what lives, whatever comes") {
  ManualClock clock;
  MemoryCounters counters(clock, 1);
  const Program program = limiter::compile({bucket("a", 1'000, {1, 1'000'000})}, {});
  for (int i = 0; i < 500; ++i) counters.judge(call_for(program, std::to_string(i), 500));
  for (int i = 500; i < 5'000; ++i) counters.judge(call_for(program, std::to_string(i), 0));
  for (int i = 0; i < 500; ++i) {
    CHECK(counters.judge(call_for(program, std::to_string(i), 0))->report.remaining == 500);
  }
  CHECK(counters.size() < 2'000);  // reads of keys that hold nothing leave nothing
}

TEST_CASE("all that is expired can be forgotten at once") {
  ManualClock clock;
  MemoryCounters counters(clock, 4);
  const Program program = limiter::compile({bucket("a", 5, {1, 1'000'000})}, {});
  for (int i = 0; i < 100; ++i) counters.judge(call_for(program, std::to_string(i), i < 50 ? 1 : 5));
  clock.now += 2'000'000;
  counters.forget_expired();
  CHECK(counters.size() == 50);
}

TEST_CASE("subjects do not share a counter, calls of one subject do") {
  ManualClock clock;
  MemoryCounters counters(clock);
  const Program program = limiter::compile({bucket("a", 5, {1, 1'000'000})}, {});
  CHECK(counters.judge(call_for(program, "u", 3))->report.remaining == 2);
  CHECK(counters.judge(call_for(program, "v", 3))->report.remaining == 2);
  CHECK_FALSE(counters.judge(call_for(program, "u", 3))->allowed);
}

TEST_CASE("threads that judge at once never admit more than the limit") {
  ManualClock clock;
  MemoryCounters counters(clock, 4);
  const Program program = limiter::compile({window("a", Algorithm::fixed_window, 1'000, 60s)}, {});
  std::atomic<int> admitted = 0;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        const limiter::Call call = call_for(program, "u", 1);
        for (int i = 0; i < 500; ++i) admitted += counters.judge(call)->allowed;
      });
    }
  }
  CHECK(admitted == 1'000);
}

TEST_CASE("a lease is released once and renewed while it lives") {
  ManualClock clock;
  MemoryCounters counters(clock);
  const Program program = limiter::compile({leases("a", 1, 10s)}, {});
  const limiter::Call call = call_for(program, "u", 1);
  CHECK(counters.judge(call)->allowed);
  const LeaseRef lease = lease_of(call, 10e6);
  clock.now += 5'000'000;
  CHECK(counters.renew({&lease, 1}).expires_at_us == clock.now + 10'000'000);
  CHECK(counters.release({&lease, 1}).live);
  CHECK_FALSE(counters.release({&lease, 1}).live);
  CHECK_FALSE(counters.renew({&lease, 1}).live);
  CHECK(counters.judge(call_for(program, "u", 1))->allowed);
}

TEST_CASE("of several leases renewed at once the earliest expiry is told, and one live lease is enough") {
  ManualClock clock;
  MemoryCounters counters(clock);
  const Program shorter = limiter::compile({leases("a", 5, 10s)}, {}),
                longer = limiter::compile({leases("b", 5, 20s)}, {});
  const limiter::Call a = call_for(shorter, "u", 1), b = call_for(longer, "u", 1);
  counters.judge(a);
  counters.judge(b);
  const LeaseRef refs[] = {lease_of(b, 20e6), lease_of(a, 10e6)};
  CHECK(counters.renew(refs).expires_at_us == clock.now + 10'000'000);
  clock.now += 15'000'000;
  const limiter::LeaseOutcome outcome = counters.renew(refs);
  CHECK(outcome.live);
  CHECK(outcome.expires_at_us == clock.now + 20'000'000);
}

TEST_CASE("nobody's lease is nothing to release") {
  ManualClock clock;
  MemoryCounters counters(clock);
  const Program program = limiter::compile({leases("a", 5, 10s)}, {});
  const limiter::Call call = call_for(program, "u", 1);
  const LeaseRef lease = lease_of(call, 10e6);
  CHECK_FALSE(counters.release({&lease, 1}).live);
  counters.judge(call_for(limiter::compile({bucket("a", 5, {1, 1})}, {}), "u", 1));
  CHECK_FALSE(counters.release({&lease, 1}).live);
}

TEST_CASE("overrides that are put replace those before, and counters stay") {
  ManualClock clock;
  MemoryCounters counters(clock);
  const Limit limit = bucket("a", 5, {1, 1'000'000});
  const Program program = limiter::compile({limit}, {});
  const limiter::Call call = call_for(program, "u", 3);
  counters.judge(call);
  OverrideEntry entry;
  entry.name_id = limiter::name_id(limit);
  entry.expires_us = std::numeric_limits<double>::infinity();
  entry.limit = 50;
  counters.put_overrides(call.keys[0], {&entry, 1});
  CHECK(counters.judge(call_for(program, "u", 0))->report.remaining == 47);
  counters.put_overrides(call.keys[0], {});
  CHECK(counters.judge(call_for(program, "u", 0))->report.remaining == 2);
}

TEST_CASE("a key that only holds an override lives as long as that") {
  ManualClock clock;
  MemoryCounters counters(clock);
  OverrideEntry entry;
  entry.limit = 50;
  entry.expires_us = static_cast<double>(clock.now + 5'000'000);
  counters.put_overrides("sl:{t|u}:p=x", {&entry, 1});
  clock.now += 5'000'000;
  counters.forget_expired();
  CHECK(counters.size() == 1);  // through its last millisecond
  clock.now += 1'000;
  counters.forget_expired();
  CHECK(counters.size() == 0);
}

TEST_CASE("an override that is over when it is put is not kept") {
  ManualClock clock;
  MemoryCounters counters(clock);
  OverrideEntry entry;
  entry.limit = 50;
  entry.expires_us = static_cast<double>(clock.now - 1);
  counters.put_overrides("sl:{t|u}:p=x", {&entry, 1});
  counters.forget_expired();
  CHECK(counters.size() == 0);
}

TEST_CASE("counters outlive the removal of an override that never ended, by the two longest windows at most") {
  ManualClock clock;
  MemoryCounters counters(clock);
  const Limit limit = bucket("a", 5, {1, 86'400'000'000});  // one a day
  const Program program = limiter::compile({limit}, {});
  OverrideEntry entry;
  entry.name_id = limiter::name_id(limit);
  entry.expires_us = std::numeric_limits<double>::infinity();
  entry.limit = 50'000;
  const limiter::Call call = call_for(program, "u", 40'000);
  counters.put_overrides(call.keys[0], {&entry, 1});
  counters.judge(call);
  clock.now += 400LL * 86'400'000'000;
  CHECK(counters.judge(call_for(program, "u", 0))->report.remaining == 10'400);
  counters.put_overrides(call.keys[0], {});
  clock.now += 731LL * 86'400'000'000;
  CHECK(counters.judge(call_for(program, "u", 0))->report.remaining == 0);
  clock.now += 2LL * 86'400'000'000;
  CHECK(counters.judge(call_for(program, "u", 0))->report.remaining == 5);
}

TEST_CASE("the store tells its listeners what the counters say") {
  ManualClock clock;
  MemoryCounters counters(clock);
  limiter::MemoryStore store(counters);
  const Program program = limiter::compile({leases("a", 1, 10s)}, {});
  const limiter::Call call = call_for(program, "u", 1);
  struct : limiter::JudgeListener, limiter::LeaseListener, limiter::OverrideListener {
    void judged(limiter::StoreResult<limiter::Outcome>&& result) override { admitted += result->allowed; }
    void settled(const limiter::StoreResult<limiter::LeaseOutcome>& result) override { live += result->live; }
    void stored(const limiter::StoreResult<void>& result) override { written += result.has_value(); }
    int admitted = 0, live = 0, written = 0;
  } listener;
  store.judge(call, listener);
  const LeaseRef lease = lease_of(call, 10e6);
  store.renew({&lease, 1}, {}, listener);
  store.release({&lease, 1}, {}, listener);
  store.put_overrides(call.keys[0], {}, listener);
  CHECK(listener.admitted == 1);
  CHECK(listener.live == 2);
  CHECK(listener.written == 1);
}

namespace {

struct KeptOutcome final : limiter::JudgeListener {
  void judged(limiter::StoreResult<limiter::Outcome>&& result) override { outcome = *std::move(result); }
  limiter::Outcome outcome;
};

// Two rulebooks of one subject, "large" of 5 and "small" of 2, judged in one call.
struct TwoRulebooks {
  void judge(std::uint32_t cost, bool large_is_enforced, bool small_is_enforced) {
    limiter::Call calls[] = {call_for(program_large, "u", cost), call_for(program_small, "u", cost)};
    calls[1].keys[0] += "2";
    const limiter::RulebookCall both[] = {{&calls[0], &large, large_is_enforced},
                                          {&calls[1], &small, small_is_enforced}};
    store.judge_all(both);
  }

  ManualClock clock;
  MemoryCounters counters{clock, 4};
  limiter::MemoryStore store{counters};
  Program program_large = limiter::compile({bucket("a", 5, {1, 1'000'000})}, {});
  Program program_small = limiter::compile({bucket("a", 2, {1, 1'000'000})}, {});
  KeptOutcome large;
  KeptOutcome small;
};

}  // namespace

TEST_CASE("enforced rulebooks are charged all or not at all, and each says whether it admits") {
  TwoRulebooks both;
  both.judge(2, true, true);
  CHECK(both.large.outcome.allowed);
  CHECK(both.large.outcome.report.remaining == 3);
  CHECK(both.small.outcome.allowed);
  CHECK(both.small.outcome.report.remaining == 0);
  for (int i = 0; i < 3; ++i) {
    both.judge(1, true, true);
    CHECK(both.large.outcome.allowed);
    CHECK(both.large.outcome.report.remaining == 3);
    CHECK(both.large.outcome.report.retry_after_us == 0);
    CHECK_FALSE(both.small.outcome.allowed);
    CHECK(both.small.outcome.report.retry_after_us == 1'000'000);
  }
  both.clock.now += 1'000'000;
  both.judge(1, true, true);
  CHECK(both.large.outcome.report.remaining == 3);  // one came back, one was charged
  CHECK(both.small.outcome.report.remaining == 0);
}

TEST_CASE("a shadow is charged by itself, whatever the enforced rulebook says, and the other way round") {
  TwoRulebooks both;
  for (int i = 1; i <= 3; ++i) {
    both.judge(1, true, false);
    CHECK(both.large.outcome.report.remaining == 5 - i);
    CHECK(both.small.outcome.allowed == (i <= 2));
  }
  TwoRulebooks shadows;
  for (int i = 1; i <= 3; ++i) {
    shadows.judge(1, false, false);
    CHECK(shadows.large.outcome.report.remaining == 5 - i);
    CHECK(shadows.small.outcome.allowed == (i <= 2));
  }
}
