// An override that replaces the window: its counter and the plan's are both charged, in a real server and in memory
// alike.
#include <doctest/doctest.h>

#include <chrono>
#include <fstream>
#include <iterator>
#include <limits>

#include "common/limiter/memory_judge.hpp"
#include "tests/integration/equivalence/both_stores.hpp"

using namespace sluice;
using namespace sluice::test;
using namespace std::chrono_literals;
using limiter::OverrideEntry;

namespace {

constexpr double kForever = std::numeric_limits<double>::infinity();

Limit named(Limit limit, std::string name = "a") {
  limit.name = std::move(name);
  return limit;
}

Limit first_window(std::int64_t count, Micros length) {
  Limit limit = window(Algorithm::fixed_window, count, length);
  limit.align = Align::first;
  return limit;
}

OverrideEntry override_of(Limit limit, std::int64_t count, Micros length, double until_us = kForever) {
  OverrideEntry entry;
  entry.name_id = limiter::name_id(limit);
  entry.expires_us = until_us;
  if (count != limit.limit) entry.limit = static_cast<double>(count);
  entry.p = static_cast<double>(length.count());
  limit.window = length;
  entry.counter_id = limiter::counter_id(limit);
  return entry;
}

double seconds_from_now(BothStores& stores, double seconds) {
  return static_cast<double>(stores.clock().now_us()) + seconds * 1e6;
}

std::vector<Limit> windows_of_each_kind(std::int64_t count, Micros length) {
  return {named(window(Algorithm::fixed_window, count, length)), named(first_window(count, length)),
          named(window(Algorithm::sliding_window, count, length)),
          named(window(Algorithm::sliding_window_log, count, length))};
}

// The script that agents of the version before call.
class FormerAgent {
 public:
  explicit FormerAgent(BothStores& stores) : stores_(stores) {
    std::ifstream file(FORMER_CHECK_SCRIPT);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    sha_ = stores_.link().ask({"SCRIPT", "LOAD", text}).text;
  }

  std::int64_t remaining_after(std::uint32_t cost) {
    limiter::Call call;
    call.program = &stores_.program();
    call.keys = {stores_.key()};
    call.costs[0] = cost;
    std::string command;
    redis::CommandWriter writer(command);
    limiter::write_check(writer, call, {});
    command.replace(command.find(limiter::script_sha(limiter::Script::check)), sha_.size(), sha_);
    stores_.link().send(command);
    std::int64_t remaining = -1;
    stores_.link().receive(1, [&](std::size_t, const redis::Reply& reply) {
      remaining = limiter::read_check(reply, call).value().outcome.value().report.remaining;
    });
    return remaining;
  }

 private:
  BothStores& stores_;
  std::string sha_;
};

}  // namespace

TEST_CASE("an override of the window begins with what the plan's window has spent, and both are charged") {
  for (const Limit& limit : windows_of_each_kind(10, 60s)) {
    CAPTURE(limit.align);
    CAPTURE(limit.algorithm);
    BothStores stores({limit});
    stores.check(4);
    stores.at(5);
    stores.put_overrides({override_of(limit, 20, 3600s, seconds_from_now(stores, 20))});
    CHECK(stores.check_one(1).remaining == 15);
    CHECK(stores.check_one(0).limit == 20);
    stores.at(25);
    const LimitReport after = stores.check_one(1);
    CHECK(after.limit == 10);
    CHECK(after.remaining == 4);
  }
}

TEST_CASE("after an override of the window the plan's counter goes on as though the override had never been") {
  for (const Micros replaced : {7s, 600s}) {
    const std::vector<Limit> limits = windows_of_each_kind(10, 60s), wide = windows_of_each_kind(1000, 60s);
    for (std::size_t i = 0; i < limits.size(); ++i) {
      CAPTURE(i);
      CAPTURE(replaced.count());
      BothStores overridden({limits[i]}), never({wide[i]});
      const auto both_check = [&](double seconds) {
        overridden.at(seconds);
        CHECK(overridden.check_one(2).admitted);
        CHECK(never.check_one(2).admitted);
      };
      both_check(50);
      overridden.put_overrides({override_of(limits[i], 1000, replaced, seconds_from_now(overridden, 70))});
      for (const double seconds : {51.0, 58.0, 62.0, 75.0, 90.0, 110.0, 111.0, 119.5}) both_check(seconds);
      never.replace_plan({limits[i]});
      for (const double seconds : {120.0, 121.0, 130.0, 149.0, 171.0, 200.0}) {
        overridden.at(seconds);
        const LimitReport found = overridden.check_one(3), expected = never.check_one(3);
        CHECK(found.admitted == expected.admitted);
        CHECK(found.remaining == expected.remaining);
        CHECK(found.reset_after_us == expected.reset_after_us);
        CHECK(found.retry_after_us == expected.retry_after_us);
      }
    }
  }
}

TEST_CASE("an override of the window that is deleted leaves the plan its own counter") {
  for (const Limit& limit : windows_of_each_kind(10, 60s)) {
    BothStores stores({limit});
    stores.check(1);
    stores.put_overrides({override_of(limit, 100, 3600s)});
    stores.at(10);
    stores.check(8);
    stores.at(20);
    stores.put_overrides({});
    CHECK(stores.check_one(0).remaining == 1);
    CHECK(stores.check_one(1).admitted);
    CHECK_FALSE(stores.check_one(1).admitted);
  }
}

TEST_CASE("an override of the window that is put again goes on, and after charges without it begins again") {
  for (const Limit& limit : windows_of_each_kind(10, 60s)) {
    BothStores stores({limit});
    const OverrideEntry entry = override_of(limit, 100, 3600s);
    stores.put_overrides({entry});
    stores.check(5);
    stores.at(61);
    stores.put_overrides({});
    stores.check(0);
    stores.put_overrides({entry});
    CHECK(stores.check_one(0).remaining == 95);
    stores.put_overrides({});
    stores.at(200);
    stores.check(2);
    stores.put_overrides({entry});
    CHECK(stores.check_one(0).remaining == 98);
  }
}

TEST_CASE("an override of the window that gets another window begins again with what the plan's window has spent") {
  for (const Limit& limit : windows_of_each_kind(10, 60s)) {
    BothStores stores({limit});
    stores.put_overrides({override_of(limit, 100, 3600s)});
    stores.check(5);
    stores.at(121);
    stores.check(3);
    stores.put_overrides({override_of(limit, 100, 7200s)});
    CHECK(stores.check_one(1).remaining == 96);
    stores.put_overrides({});
    CHECK(stores.check_one(0).remaining == 6);
  }
}

TEST_CASE("a denial by an override of the window says when the call passes, though the plan's window ends first") {
  for (const Limit& limit : windows_of_each_kind(10, 60s)) {
    BothStores stores({limit});
    stores.check(10);
    stores.at(30);
    stores.put_overrides({override_of(limit, 10, 3600s)});
    const LimitReport denied = stores.check_one(1);
    CHECK_FALSE(denied.admitted);
    CHECK(denied.retry_after_us > 3'000'000'000);
    stores.at(121);
    CHECK_FALSE(stores.check_one(1).admitted);
    stores.at_us(30'000'000 + denied.retry_after_us - 1);
    CHECK_FALSE(stores.check_one(1).admitted);
    stores.at_us(30'000'000 + denied.retry_after_us);
    CHECK(stores.check_one(1).admitted);
  }
}

TEST_CASE("a fixed window is carried into the override's current window as a whole, also into a shorter one") {
  const Limit limit = named(window(Algorithm::fixed_window, 100, 3600s));
  BothStores stores({limit});
  stores.check(8);
  stores.at(600);
  stores.put_overrides({override_of(limit, 10, 60s)});
  CHECK(stores.check_one(0).remaining == 2);
  stores.at(660);
  CHECK(stores.check_one(0).remaining == 10);
}

TEST_CASE("a window from the first hit is carried into a window that opens when the override begins") {
  const Limit limit = named(first_window(100, 3600s));
  BothStores stores({limit});
  stores.check(8);
  stores.at(600);
  stores.put_overrides({override_of(limit, 10, 60s)});
  const LimitReport report = stores.check_one(0);
  CHECK(report.remaining == 2);
  CHECK(report.reset_after_us == 60'000'000);
}

TEST_CASE("a sliding counter is carried with the weight that the window before has") {
  const Limit limit = named(window(Algorithm::sliding_window, 10, 10s));
  BothStores stores({limit});
  stores.at(1);
  stores.check(10);
  stores.at(15);
  stores.check(1);
  stores.put_overrides({override_of(limit, 100, 3600s)});
  CHECK(stores.check_one(0).remaining == 94);  // 5 of the 10, and 1
}

TEST_CASE("a log's entries leave the override's window when they leave, and stay for the plan's if that is longer") {
  const Limit limit = named(window(Algorithm::sliding_window_log, 10, 60s));
  BothStores stores({limit});
  stores.check(2);
  stores.at(5);
  stores.put_overrides({override_of(limit, 100, 10s)});
  stores.check(3);
  stores.at(12);
  CHECK(stores.check_one(1).remaining == 96);
  stores.put_overrides({});
  CHECK(stores.check_one(0).remaining == 4);
}

TEST_CASE("a log under an override of the window keeps no more than the limits of both need") {
  const Limit limit = named(window(Algorithm::sliding_window_log, 5, 3600s));
  BothStores stores({limit});
  stores.put_overrides({override_of(limit, 20, 1s)});
  for (int second = 0; second < 50; ++second) {
    stores.at(second);
    stores.check(1);
  }
  CHECK(stores.link().ask({"LLEN", stores.key() + ":log=a"}).integer <= 6);
  stores.put_overrides({});
  const LimitReport report = stores.check_one(1);
  CHECK_FALSE(report.admitted);
  CHECK(report.retry_after_us == 3'596'000'000);  // the fifth newest leaves
}

TEST_CASE("a reset clears both counters of an overridden window") {
  for (const Limit& limit : windows_of_each_kind(10, 60s)) {
    BothStores stores({limit});
    stores.check(4);
    stores.put_overrides({override_of(limit, 100, 3600s)});
    stores.check(1);
    stores.reset();
    CHECK(stores.check_one(0).remaining == 100);
    stores.put_overrides({});
    CHECK(stores.check_one(0).remaining == 10);

    stores.check(2);
    stores.put_overrides({override_of(limit, 100, 3600s)});
    stores.check(1);
    stores.put_overrides({});
    stores.reset();
    CHECK(stores.link().ask({"EXISTS", stores.key()}).integer == 0);
  }
}

TEST_CASE("limits beside an overridden window keep what they have spent when the override begins") {
  const Limit a = named(window(Algorithm::fixed_window, 10, 3600s));
  std::vector<Limit> limits{a};
  for (Limit other : {bucket(10, 1, 3'000'000), window(Algorithm::fixed_window, 10, 60s), first_window(10, 600s),
                      window(Algorithm::sliding_window, 10, 30s), quota(10, Period::hour)}) {
    limits.push_back(named(other, "b" + std::to_string(limits.size())));
  }
  BothStores overridden(limits), never(limits);
  overridden.check(4), never.check(4);
  overridden.at(50);
  overridden.put_overrides({override_of(a, 100, 1800s)});
  for (const double seconds : {50.0, 70.0}) {
    overridden.at(seconds);
    const limiter::Outcome found = overridden.check(1), expected = never.check(1);
    for (std::size_t i = 1; i < limits.size(); ++i) {
      CAPTURE(i);
      CHECK(found.limits[i].remaining == expected.limits[i].remaining);
      CHECK(found.limits[i].reset_after_us == expected.limits[i].reset_after_us);
    }
  }
}

TEST_CASE("under an override of the window a denial by another limit charges neither counter") {
  const Limit a = named(window(Algorithm::fixed_window, 10, 60s)), b = named(bucket(3, 1, 100'000'000), "b");
  BothStores stores({a, b});
  stores.check(2);
  stores.put_overrides({override_of(a, 100, 3600s)});
  CHECK_FALSE(stores.check(2).allowed);  // the override begins with it
  CHECK(stores.check(0).limits[0].remaining == 98);
  stores.put_overrides({});
  CHECK(stores.check(0).limits[0].remaining == 8);
}

TEST_CASE("another window of the plan is a new counter, also under an override of the window") {
  const Limit limit = named(window(Algorithm::fixed_window, 10, 60s));
  BothStores stores({limit});
  stores.put_overrides({override_of(limit, 100, 3600s)});
  stores.check(4);
  stores.replace_plan({named(window(Algorithm::fixed_window, 10, 30s))});
  CHECK(stores.check_one(1).remaining == 95);
  stores.put_overrides({});
  CHECK(stores.check_one(0).remaining == 9);
}

TEST_CASE("an overridden window takes 40 bytes more for the plan's counter, and the key lives as long as both") {
  const Limit limit = named(window(Algorithm::fixed_window, 10, 60s));
  BothStores stores({limit});
  stores.put_overrides({override_of(limit, 100, 1s, seconds_from_now(stores, 5))});
  stores.check(1);
  CHECK(stores.link().ask({"STRLEN", stores.key()}).integer == 26 + 40 + 40);
  CHECK(stores.link().ask({"PTTL", stores.key()}).integer == 60'000);
  stores.at(5);
  stores.check(1);
  CHECK(stores.link().ask({"STRLEN", stores.key()}).integer == 26);
  CHECK(stores.link().ask({"PTTL", stores.key()}).integer == 55'000);
}

TEST_CASE("an agent of the version before charges the override's counter and keeps the plan's") {
  const Limit limit = named(window(Algorithm::fixed_window, 10, 60s));
  BothStores stores({limit});
  stores.check(4);
  stores.put_overrides({override_of(limit, 100, 3600s, seconds_from_now(stores, 20))});
  stores.check(1);
  FormerAgent former(stores);
  CHECK(former.remaining_after(1) == 94);
  CHECK(former.remaining_after(1) == 93);
  stores.at(20);
  // The plan's counter has what this version's agents charged; the two calls above are missing. Memory has no former
  // agent, so its counter knows of neither.
  CHECK(stores.check_one(1).remaining == 4);
}

TEST_CASE("a former agent's log under an override of the window counts on") {
  const Limit limit = named(window(Algorithm::sliding_window_log, 10, 60s));
  BothStores stores({limit});
  stores.check(4);
  stores.put_overrides({override_of(limit, 100, 3600s)});
  stores.check(1);
  FormerAgent former(stores);
  CHECK(former.remaining_after(2) == 93);
  CHECK(former.remaining_after(0) == 93);
}

TEST_CASE("a state that an agent of the version before wrote under an override is read") {
  const Limit limit = named(window(Algorithm::fixed_window, 10, 60s));
  BothStores stores({limit});
  stores.put_overrides({override_of(limit, 100, 3600s)});
  FormerAgent former(stores);
  CHECK(former.remaining_after(5) == 95);
  CHECK(former.remaining_after(0) == 95);
  stores.link().ask({"COPY", stores.key(), stores.key() + ":kept"});
  stores.reset();
  stores.check(5);
  stores.link().ask({"COPY", stores.key() + ":kept", stores.key(), "REPLACE"});
  CHECK(stores.check_one(0).remaining == 95);
}
