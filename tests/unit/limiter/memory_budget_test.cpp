// What counters in memory may take, and what happens when that is not enough.
#include "common/limiter/memory_budget.hpp"

#include <doctest/doctest.h>

#include <string>

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

TEST_CASE("half of the memory is for whoever comes first, and later tenants find room in the other half") {
  MemoryBudget budget(1'000);
  CHECK(budget.admits("sl:{a|x}"));
  budget.add("sl:{a|x}", 400);
  CHECK(budget.admits("sl:{a|y}"));
  budget.add("sl:{a|y}", 150);
  CHECK(budget.used() == 550);
  CHECK_FALSE(budget.admits("sl:{a|z}"));  // 550, and 450 are free
  CHECK(budget.admits("sl:{b|z}"));
  budget.add("sl:{b|z}", 140);
  CHECK(budget.admits("sl:{b|y}"));  // 140, and 310 are free
  budget.add("sl:{b|y}", 20);
  CHECK_FALSE(budget.admits("sl:{b|x}"));  // 160, and 290 are free
  CHECK(budget.admits("sl:{c|x}"));
  budget.add("sl:{c|x}", 290);
  CHECK_FALSE(budget.admits("sl:{d|x}"));  // all is taken
  budget.add("sl:{a|y}", -150);
  budget.add("sl:{a|x}", -400);
  CHECK(budget.used() == 450);
  CHECK(budget.admits("sl:{a|x}"));
  CHECK_FALSE(MemoryBudget(MemoryBudget::kUnlimited).is_limited());
}

TEST_CASE("a flood of identities stays within the limit, and a spent limit stays spent") {
  ManualClock clock;
  MemoryCounters counters(clock, 4, kLimit);
  const Program program = limiter::compile({bucket("a", 5, {1, 3'600'000'000})}, {});
  for (int i = 0; i < 5; ++i) CHECK(counters.judge(call_for(program, "t", "first")).allowed);
  int overflow_allowed = 0;
  for (int i = 0; i < 30'000; ++i) {
    const bool own = counters.overflowed() == 0;
    const auto outcome = counters.judge(call_for(program, "t", std::to_string(i)));
    if (counters.overflowed() > 0 && outcome.allowed && !own) ++overflow_allowed;
  }
  CHECK(counters.bytes() <= kLimit);
  CHECK(counters.bytes() > kLimit / 2);
  CHECK(counters.overflowed() > 20'000);
  CHECK(overflow_allowed <= 5);  // all of them together have one limit
  CHECK_FALSE(counters.judge(call_for(program, "t", "first")).allowed);
  CHECK_FALSE(counters.judge(call_for(program, "t", "0", 5)).allowed);

  // Another tenant has its share.
  for (int i = 0; i < 500; ++i) CHECK(counters.judge(call_for(program, "u", std::to_string(i))).allowed);

  // What has expired makes room.
  clock.now += 6 * 3'600'000'000LL;
  const std::uint64_t before = counters.overflowed();
  for (int i = 0; i < 20'000; ++i) counters.judge(call_for(program, "t", "again" + std::to_string(i % 1'000)));
  CHECK(counters.overflowed() - before < 10'000);
  counters.forget_expired();
  CHECK(counters.judge(call_for(program, "t", "new one")).allowed);
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
    CHECK(counters.judge(call).allowed);
  }
  CHECK(counters.bytes() > 100 * limiter::kLeaseMemberSize);
  clock.now += 2 * 3'600'000'000LL;
  counters.forget_expired();
  CHECK(counters.size() == 0);
  CHECK(counters.bytes() == 0);
}

TEST_CASE("a lease that an overflow counter gave is found again") {
  ManualClock clock;
  MemoryCounters counters(clock, 4, 1'000);
  const Program program = limiter::compile({leases("c", 3, 1h)}, {});
  limiter::Call call = call_for(program, "t", "a");
  for (int i = 0; i < 10; ++i) {
    call.keys[0] = "sl:{t|subject=" + std::to_string(i) + "}:p=x";
    call.draw[0] = static_cast<unsigned char>(i + 1);
    if (counters.judge(call).allowed && counters.overflowed() > 0) break;
  }
  REQUIRE(counters.overflowed() > 0);
  const std::string_view draw(reinterpret_cast<const char*>(call.draw.data()), call.draw.size());
  const limiter::LeaseRef lease{call.keys[0], "c", limiter::lease_member(draw, 1, 3.6e9)};
  CHECK(counters.renew({{lease}}).live);
  CHECK(counters.release({{lease}}).live);
  CHECK_FALSE(counters.release({{lease}}).live);
}
