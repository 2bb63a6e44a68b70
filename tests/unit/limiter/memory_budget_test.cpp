// What counters in memory may take, and what happens when that is not enough.
#include "common/limiter/memory_budget.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "common/limiter/algorithms/lease_set.hpp"
#include "common/limiter/memory_store.hpp"
#include "tests/unit/limiter/limits.hpp"

using namespace sluice;
using namespace sluice::test;
using namespace std::chrono_literals;
using limiter::MemoryBudget;
using limiter::MemoryCounters;
using limiter::overflow_key;
using limiter::Program;

namespace {

constexpr std::size_t kLimit = 1'000'000;

limiter::Call call_for(const Program& program, const std::string& tenant, const std::string& subject,
                       std::uint32_t cost = 1) {
  limiter::Call call = call_of(program, cost);
  call.keys[0] = "sl:{" + tenant + "|subject=" + subject + "}:p=x";
  return call;
}

}  // namespace

TEST_CASE("an overflow counter is one for each limit of a tenant, and no identity's") {
  CHECK(overflow_key("sl:{t|subject=ann|resource}:p=x") == "sl:{t|*}:p=x");
  CHECK(overflow_key("sl:{t|}:l=gold") == "sl:{t|*}:l=gold");
  CHECK(overflow_key("sl:{t|subject=ann}:p=x:k=burst|route=a|method=GET") == "sl:{t|*}:p=x:k=burst");
  CHECK(overflow_key("k") == "k|*");
}

TEST_CASE("tenants borrow while there is something left to lend, and equally") {
  MemoryBudget budget(16'000);  // 1,000 of it is for overflow counters
  CHECK(budget.admits("sl:{a|x}"));
  budget.add("sl:{a|x}", 7'400);
  CHECK(budget.admits("sl:{a|y}"));
  budget.add("sl:{a|y}", 100);
  CHECK(budget.used() == 7'500);
  CHECK_FALSE(budget.admits("sl:{a|z}"));  // 7,500, and 7,500 are left
  CHECK(budget.admits("sl:{b|z}"));
  budget.add("sl:{b|z}", 3'700);
  CHECK(budget.admits("sl:{b|y}"));  // 3,700, and 3,800 are left
  budget.add("sl:{b|y}", 100);
  CHECK_FALSE(budget.admits("sl:{b|x}"));  // 3,800, and 3,700 are left
  budget.add("sl:{c|x}", 3'700);
  CHECK_FALSE(budget.admits("sl:{d|x}"));  // all is taken
  CHECK(budget.admits_overflow());
  budget.add("sl:{a|*}", 1'000);
  CHECK_FALSE(budget.admits_overflow());
  budget.add("sl:{a|*}", -1'000);
  budget.add("sl:{a|y}", -100);
  budget.add("sl:{a|x}", -7'400);
  CHECK(budget.used() == 7'500);
  CHECK(budget.admits("sl:{a|x}"));
}

TEST_CASE("each tenant of the policies has a part that the others cannot take") {
  MemoryBudget budget(16'000);
  budget.set_tenants(5);  // 1,500 for each, and 7,500 to lend
  for (int i = 0; i < 100'000 && budget.admits("sl:{a|x}"); ++i) budget.add("sl:{a|x}", 1);
  CHECK(budget.used() == 1'500 + 3'750);
  for (const std::string tenant : {"b", "c", "d"}) {
    for (int i = 0; i < 100'000 && budget.admits("sl:{" + tenant + "|x}"); ++i) budget.add("sl:{" + tenant + "|x}", 1);
  }
  CHECK(budget.admits("sl:{e|x}"));
  const std::size_t before = budget.used();
  for (int i = 0; i < 100'000 && budget.admits("sl:{e|x}"); ++i) budget.add("sl:{e|x}", 1);
  CHECK(budget.used() - before >= 1'500);
  CHECK(budget.used() <= 15'000);
  CHECK_FALSE(budget.admits("sl:{a|x}"));
}

TEST_CASE("a tenant has its part, even if another one had all the memory before") {
  MemoryBudget budget(16'000);
  budget.set_tenants(1);
  budget.add("sl:{a|x}", 14'000);
  budget.set_tenants(5);
  CHECK_FALSE(budget.admits("sl:{a|x}"));
  CHECK(budget.admits("sl:{b|x}"));
  budget.add("sl:{b|x}", 1'500);
  CHECK_FALSE(budget.admits("sl:{b|x}"));
}

TEST_CASE("tenants that want more than there is get equal loans") {
  MemoryBudget budget(16'000);
  budget.set_tenants(3);
  std::array<std::size_t, 3> taken{};
  for (int i = 0; i < 60'000; ++i) {
    const auto tenant = static_cast<std::size_t>(i % 3);
    const std::string key = "sl:{" + std::to_string(tenant) + "|x}";
    if (!budget.admits(key)) continue;
    budget.add(key, 1);
    ++taken[tenant];
  }
  CHECK(std::ranges::max(taken) - std::ranges::min(taken) <= 1);
  CHECK(taken[0] > 4'000);
}

TEST_CASE("the only tenant has all the room, and another number of tenants counts at once") {
  MemoryBudget budget(16'000);
  budget.set_tenants(1);
  budget.add("sl:{a|x}", 14'999);
  CHECK(budget.admits("sl:{a|x}"));
  budget.add("sl:{a|x}", 1);
  CHECK_FALSE(budget.admits("sl:{a|x}"));
  budget.add("sl:{a|x}", -5'000);
  CHECK(budget.admits("sl:{a|x}"));
  budget.set_tenants(2);
  CHECK_FALSE(budget.admits("sl:{a|x}"));  // 3,750 are its part, and 6,250 of 7,500 are lent to it
  CHECK(budget.admits("sl:{b|x}"));
}

TEST_CASE("a flood of identities stays within the limit, and a spent limit stays spent") {
  ManualClock clock;
  MemoryCounters counters(clock, 4, kLimit);
  const Program program = limiter::compile({bucket("a", 5, {1, 3'600'000'000})}, {});
  for (int i = 0; i < 5; ++i) CHECK(counters.judge(call_for(program, "t", "first"))->allowed);
  int overflow_allowed = 0;
  for (int i = 0; i < 30'000; ++i) {
    const bool own = counters.overflowed() == 0;
    const auto outcome = counters.judge(call_for(program, "t", std::to_string(i)));
    if (counters.overflowed() > 0 && outcome->allowed && !own) ++overflow_allowed;
  }
  CHECK(counters.bytes() <= kLimit);
  CHECK(counters.bytes() > kLimit / 3);
  CHECK(counters.overflowed() > 20'000);
  CHECK(overflow_allowed <= 5);  // all of them together have one limit
  CHECK_FALSE(counters.judge(call_for(program, "t", "first"))->allowed);
  CHECK_FALSE(counters.judge(call_for(program, "t", "0", 5))->allowed);

  // Another tenant has its share.
  for (int i = 0; i < 500; ++i) CHECK(counters.judge(call_for(program, "u", std::to_string(i)))->allowed);

  // What has expired makes room.
  clock.now += 6 * 3'600'000'000LL;
  const std::uint64_t before = counters.overflowed();
  for (int i = 0; i < 20'000; ++i) counters.judge(call_for(program, "t", "again" + std::to_string(i % 1'000)));
  CHECK(counters.overflowed() - before < 10'000);
  counters.forget_expired();
  CHECK(counters.judge(call_for(program, "t", "new one"))->allowed);
  CHECK(counters.bytes() < kLimit / 2);
}

TEST_CASE("logs and leases count by their size, and what is gone is given back") {
  ManualClock clock;
  MemoryCounters counters(clock, 1, kLimit);
  const Program program = limiter::compile({leases("c", 1'000, 1h)}, {});
  limiter::Call call = call_for(program, "t", "u");
  const std::size_t empty = counters.bytes();
  CHECK(empty == 0);
  for (int i = 0; i < 100; ++i) {
    call.draw[0] = static_cast<unsigned char>(i);
    CHECK(counters.judge(call)->allowed);
  }
  CHECK(counters.bytes() > 100 * limiter::kLeaseMemberSize);
  clock.now += 2 * 3'600'000'000LL;
  counters.forget_expired();
  CHECK(counters.size() == 0);
  CHECK(counters.bytes() == 0);
}

TEST_CASE("a lease that an overflow counter gave is found again") {
  ManualClock clock;
  MemoryCounters counters(clock, 4, 100'000);
  const Program program = limiter::compile({leases("c", 3, 1h)}, {});
  limiter::Call call = call_for(program, "t", "a");
  for (int i = 0; i < 200; ++i) {
    call.keys[0] = "sl:{t|subject=" + std::to_string(i) + "}:p=x";
    call.draw[0] = static_cast<unsigned char>(i + 1);
    const auto outcome = counters.judge(call);
    if (outcome && outcome->allowed && counters.overflowed() > 0) break;
  }
  REQUIRE(counters.overflowed() > 0);
  const std::string_view draw(reinterpret_cast<const char*>(call.draw.data()), call.draw.size());
  const limiter::LeaseRef lease{call.keys[0], "c", limiter::lease_member(draw, 1, 3.6e9)};
  CHECK(counters.renew({{lease}}).live);
  CHECK(counters.release({{lease}}).live);
  CHECK_FALSE(counters.release({{lease}}).live);
}

TEST_CASE("a log does not grow when memory is short, and never admits more than its limit") {
  ManualClock clock;
  MemoryCounters counters(clock, 4, kLimit);
  const Program program = limiter::compile({window("l", Algorithm::sliding_window_log, 9'000, 1h)}, {});
  std::size_t admitted = 0;
  for (int subject = 0; subject < 20; ++subject) {
    for (int i = 0; i < 10'000; ++i) {
      clock.now += 1'000;
      const bool own = counters.overflowed() == 0;
      const bool passes = counters.judge(call_for(program, "t", std::to_string(subject)))->allowed;
      if (own) CHECK(passes == (i < 9'000));
      admitted += passes ? 1 : 0;
    }
  }
  CHECK(counters.bytes() <= kLimit);
  CHECK(counters.bytes() > kLimit / 3);
  CHECK(counters.refused() == 0);
  CHECK(admitted <= 20 * 9'000);
  // What joined another charge counts until that one is over, and comes back then.
  clock.now += 2 * 3'600'000'000LL;
  counters.forget_expired();
  CHECK(counters.bytes() == 0);
  CHECK(counters.judge(call_for(program, "t", "0", 9'000))->allowed);
}

TEST_CASE("logs that grow side by side stay within the memory and exact in number") {
  ManualClock clock;
  MemoryCounters counters(clock, 4, kLimit);
  const Program program = limiter::compile({window("l", Algorithm::sliding_window_log, 9'000, 1h)}, {});
  for (int i = 0; i < 10'000; ++i) {
    for (int subject = 0; subject < 20; ++subject) {
      clock.now += 1'000;
      CHECK(counters.judge(call_for(program, "t", std::to_string(subject)))->allowed == (i < 9'000));
    }
  }
  CHECK(counters.overflowed() == 0);  // each has a log of its own
  CHECK(counters.bytes() <= kLimit);
}

TEST_CASE("a check that would take a lease is refused when there is no memory for it") {
  ManualClock clock;
  MemoryCounters counters(clock, 1, kLimit);
  const Program program = limiter::compile({leases("c", 10'000, 1h)}, {});
  limiter::Call call = call_for(program, "t", "u");
  std::vector<limiter::LeaseRef> taken;
  std::uint16_t number = 0;
  const auto take = [&] {
    ++number;
    std::memcpy(call.draw.data(), &number, sizeof number);
    const auto outcome = counters.judge(call);
    if (!outcome) return false;
    CHECK(outcome->allowed);
    const std::string_view draw(reinterpret_cast<const char*>(call.draw.data()), call.draw.size());
    taken.push_back({call.keys[0], "c", limiter::lease_member(draw, 1, 3.6e9)});
    return true;
  };
  while (number < 9'999 && take()) {
  }
  CHECK(number < 9'999);
  CHECK(counters.refused() == 1);
  CHECK(counters.bytes() <= kLimit);
  CHECK(counters.judge(call).error().fault == limiter::StoreFault::overload);
  limiter::Call reads = call_for(program, "t", "u", 0);
  CHECK(counters.judge(reads)->report.remaining ==
        10'000 - static_cast<std::int64_t>(taken.size()));  // none is charged
  // A lease that is given back makes room for another.
  for (int i = 0; i < 10; ++i) {
    CHECK(counters.release({&taken.back(), 1}).live);
    taken.pop_back();
  }
  CHECK(take());
}

TEST_CASE("a spent limit stays spent whatever another limit of the plan counts by") {
  ManualClock clock;
  MemoryCounters counters(clock, 4, kLimit);
  Limit by_route = bucket("b", 5, {1, 3'600'000'000});
  by_route.key_by = std::vector<DimensionRef>{{Dimension::operation, ""}};
  const Program program = limiter::compile({bucket("a", 5, {1, 3'600'000'000}), by_route}, {});
  REQUIRE(program.groups.size() == 2);
  const auto judge = [&](const std::string& subject, const std::string& operation) {
    limiter::Call call = call_for(program, "t", subject);
    call.keys[1] = call.keys[0] + ":k=b|operation=" + operation;
    return counters.judge(call)->allowed;
  };
  for (int i = 0; i < 5; ++i) CHECK(judge("spent", "x"));
  for (int i = 0; i < 20'000; ++i) {  // another plan fills the memory, so that this one's overflow counter is new
    limiter::Call other = call_for(program, "t", std::to_string(i));
    other.keys[0] += "2";
    other.keys[1] = other.keys[0] + ":k=b|operation=x";
    counters.judge(other);
  }
  CHECK(counters.overflowed() > 0);
  for (int i = 0; i < 20; ++i) CHECK_FALSE(judge("spent", "new" + std::to_string(i)));
}

TEST_CASE("rulebooks that are judged together begin no counters of their own when memory is short") {
  ManualClock clock;
  MemoryCounters counters(clock, 4, kLimit);
  const Program program = limiter::compile({bucket("a", 5, {1, 3'600'000'000})}, {});
  int allowed = 0;
  for (int i = 0; i < 20'000; ++i) {
    limiter::Call one = call_for(program, "t", std::to_string(i)), other = one;
    other.keys[0] += "2";
    const limiter::Call* const both[] = {&one, &other};
    const bool own = counters.overflowed() == 0;
    const auto outcomes = counters.judge_together(both);
    if (counters.overflowed() > 0 && !own) allowed += outcomes[0]->allowed && outcomes[1]->allowed ? 1 : 0;
  }
  CHECK(counters.overflowed() > 10'000);
  CHECK(allowed <= 5);
  CHECK(counters.bytes() <= kLimit);
}

TEST_CASE("when there is no memory for another overflow counter, calls that need one are refused") {
  ManualClock clock;
  MemoryCounters counters(clock, 4, 100'000);
  const Program program = limiter::compile({bucket("a", 5, {1, 3'600'000'000})}, {});
  limiter::Call call = call_for(program, "t", "u");
  for (int policy = 0; policy < 2'000; ++policy) {
    call.keys[0] = "sl:{t|subject=u}:p=" + std::to_string(policy);
    const auto outcome = counters.judge(call);
    CHECK((outcome || outcome.error().fault == limiter::StoreFault::overload));
  }
  CHECK(counters.refused() > 0);
  CHECK(counters.bytes() <= 100'000 + 500);
}
