// Several threads and one engine. ThreadSanitizer runs these.
#include <algorithm>
#include <atomic>
#include <barrier>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "tests/unit/libsluice/engine_rig.hpp"

namespace sluice {
namespace {

// LIBRARY_KEYS asks for more than a unit test has time for.
int keys() {
  const char* const wanted = std::getenv("LIBRARY_KEYS");
  return wanted != nullptr ? std::atoi(wanted) : 1'000;
}

// A limit of five units, and how many units pass once more when the clock has gone on.
struct Load {
  std::string_view limit;
  std::int64_t later_us;
  int more;
};
constexpr Load kLoads[] = {
    {R"({"name":"a","algorithm":"fixed_window","limit":5,"window":"1h"})", 3'600'000'000, 5},
    {R"({"name":"a","algorithm":"sliding_window","limit":5,"window":"2s"})", 4'000'000, 5},
    {R"({"name":"a","algorithm":"sliding_window_log","limit":5,"window":"2s"})", 2'000'000, 5},
    {R"({"name":"a","algorithm":"token_bucket","capacity":5,"refill":"2/s"})", 1'000'000, 2},
    {R"({"name":"a","algorithm":"leaky_bucket","capacity":5,"leak":"2/s"})", 1'500'000, 3},
    {R"({"name":"a","algorithm":"concurrency","limit":5,"lease_ttl":"2s"})", 2'000'000, 5},
    {R"({"name":"a","algorithm":"quota","limit":5,"period":"hour"})", 3'600'000'000, 5},
};

// While the clock stands, what passes does not depend on the order of the calls: all that the limit allows, no more.
TEST_CASE("sixteen threads together get exactly what the limit of each key allows" * doctest::timeout(3000)) {
  constexpr int kThreads = 16;
  const int count = keys();
  for (const Load& load : kLoads) {
    CAPTURE(load.limit);
    std::atomic<std::int64_t> now_us = 1'800'230'400'000'000;  // a Monday's midnight
    const auto engine = open_engine({.bundle = bundle_of(load.limit), .clock_us = [&now_us] { return now_us.load(); }});
    for (const int expected : {5, load.more}) {
      std::vector<std::atomic<int>> passed(static_cast<std::size_t>(count));
      std::barrier begin(kThreads);
      std::vector<std::jthread> threads;
      for (int thread = 0; thread < kThreads; ++thread) {
        threads.emplace_back([&, thread] {
          v1::Decision decision;
          begin.arrive_and_wait();
          for (int i = 0; i < count; ++i) {
            const int key = static_cast<int>((std::int64_t{i} * (2 * thread + 1)) % count);
            const int cost = 1 + (i + thread) % 3;
            const std::string subject = fmt::format("user:{}", key);
            engine->check({.resource = "GET:/orders", .subject = subject, .cost = cost}, decision);
            if (decision.allowed) passed[static_cast<std::size_t>(key)].fetch_add(cost, std::memory_order_relaxed);
          }
        });
      }
      threads.clear();
      // Some keys were asked for less than they have, and some for a cost that did not fit: the rest passes now.
      v1::Decision decision;
      for (int key = 0; key < count; ++key) {
        const std::string subject = fmt::format("user:{}", key);
        int units = passed[static_cast<std::size_t>(key)];
        for (;; ++units) {
          engine->check({.resource = "GET:/orders", .subject = subject}, decision);
          if (!decision.allowed) break;
        }
        if (units != expected) FAIL("key " << key << " got " << units << " instead of " << expected);
      }
      now_us += load.later_us;
    }
  }
}

// Version n of the policy allows n × 1000 more; every third bundle has no policy at all.
std::string bundle_of_version(int version) {
  if (version % 3 == 0) return R"({"format":"sluice/v1","tenants":[{"id":"shop"}]})";
  return bundle_of(fixed_window(1'000'000 + 1'000 * version, R"(,"align":"first")"),
                   fmt::format(R"(,"version":{})", version));
}

TEST_CASE("policies change under load: each decision is by one of them as a whole, and counters are kept") {
  const auto engine = open_engine({.bundle = bundle_of_version(1), .metrics = true});
  std::atomic<bool> ended = false;
  std::atomic<std::int64_t> wrong = 0, counted = 0, checks = 0;
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < 6; ++thread) {
    threads.emplace_back([&] {
      v1::Decision decision;
      while (!ended && counted < 900'000) {
        engine->check({.resource = "GET:/orders", .subject = "user:42"}, decision);
        const bool whole = decision.policy.empty() ? decision.reason == v1::Reason::no_policy && !decision.has_limit
                                                   : decision.limit == 1'000'000 + 1'000 * decision.policy_version;
        if (!decision.allowed || !whole || !decision.status.ok()) ++wrong;
        if (decision.has_limit) ++counted;
        ++checks;
      }
    });
  }
  for (int version = 2; version <= 1'000; ++version) {
    REQUIRE(engine->load(bundle_of_version(version)).ok());
    const v1::Decision decision = engine->check({.resource = "GET:/orders", .subject = "user:43"});
    REQUIRE(decision.policy_version == (version % 3 == 0 ? 0 : version));
    if (version % 50 == 0) REQUIRE_FALSE(engine->load("{").ok());
  }
  while (checks < 1'000) std::this_thread::yield();
  ended = true;
  threads.clear();
  CHECK(wrong == 0);
  CHECK(engine->revision() == 1'000);
  // All that the threads were allowed is in the one counter, whichever policy has counted it.
  const v1::Decision last = engine->check({.resource = "GET:/orders", .subject = "user:42", .cost = 0});
  CHECK(last.limit - last.remaining == counted);
  CHECK(engine->metrics().find("sluice_decisions_total") != std::string::npos);
}

TEST_CASE("threads take and give back leases, and never have more than there are") {
  constexpr int kPlaces = 3;
  const auto engine =
      open_engine({.bundle = bundle_of(fmt::format(
                       R"({{"name":"places","algorithm":"concurrency","limit":{},"lease_ttl":"1h"}})", kPlaces))});
  std::atomic<int> inside = 0;
  std::atomic<int> most = 0;
  std::atomic<int> entered = 0;
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < 8; ++thread) {
    threads.emplace_back([&] {
      const v1::Request request{.resource = "GET:/orders", .subject = "user:42"};
      v1::Decision decision;
      for (int i = 0; i < 300; ++i) {
        engine->check(request, decision);
        const v1::Lease lease = engine->lease(request, decision);
        if (!lease) continue;
        const int now = ++inside;
        int before = most;
        while (now > before && !most.compare_exchange_weak(before, now)) {
        }
        ++entered;
        --inside;
      }
    });
  }
  threads.clear();
  CHECK(entered > 300);
  CHECK(most <= kPlaces);
  v1::Decision decision;
  engine->check({.resource = "GET:/orders", .subject = "user:42", .cost = kPlaces}, decision);
  CHECK(decision.allowed);  // all are back
}

TEST_CASE("engines are opened and closed ten thousand times") {
  const std::string bundle = bundle_of(fixed_window(5));
  std::vector<std::jthread> threads;
  std::atomic<int> allowed = 0;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < 2'500; ++i) {
        const auto opened = v1::Engine::open({.bundle = bundle,
                                              .concurrency = i % 2 == 0 ? v1::Concurrency::one : v1::Concurrency::many,
                                              .metrics = i % 50 == thread});
        if (opened && opened.engine->check({.resource = "GET:/orders", .subject = "a"}).allowed) ++allowed;
      }
    });
  }
  threads.clear();
  CHECK(allowed == 10'000);
}

}  // namespace
}  // namespace sluice
