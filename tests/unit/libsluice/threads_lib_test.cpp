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
  return wanted != nullptr ? std::atoi(wanted) : 3'000;
}

TEST_CASE("sixteen threads together get exactly what the limit of each key allows" * doctest::timeout(3000)) {
  constexpr int kThreads = 16;
  constexpr int kLimit = 5;
  const int count = keys();
  const auto engine = open_engine({.bundle = bundle_of(fixed_window(kLimit, R"(,"align":"first")"))});
  std::vector<std::atomic<int>> allowed(static_cast<std::size_t>(count));
  std::barrier begin(kThreads);
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      v1::Decision decision;
      begin.arrive_and_wait();
      for (int i = 0; i < count; ++i) {
        const int key = static_cast<int>((std::int64_t{i} * (2 * thread + 1)) % count);
        const std::string subject = fmt::format("user:{}", key);
        engine->check({.resource = "GET:/orders", .subject = subject}, decision);
        if (decision.allowed) allowed[static_cast<std::size_t>(key)].fetch_add(1, std::memory_order_relaxed);
      }
    });
  }
  threads.clear();
  // A thread whose stride shares a factor with the count asks some keys more often than others, but each key is asked
  // by the thread of stride 1.
  for (int key = 0; key < count; ++key) {
    const int got = allowed[static_cast<std::size_t>(key)];
    if (got > kLimit || got < 1) FAIL("key " << key << " was allowed " << got << " times");
  }
  std::int64_t total = 0;
  for (const auto& each : allowed) total += each;
  v1::Decision decision;
  for (int key = 0; key < count; ++key) {
    const std::string subject = fmt::format("user:{}", key);
    while (engine->check({.resource = "GET:/orders", .subject = subject}).allowed) ++total;
  }
  CHECK(total == std::int64_t{kLimit} * count);
}

TEST_CASE("policies change under load: each decision is by the old or the new ones, and then by the new ones") {
  const std::string bundles[] = {bundle_of(fixed_window(1'000'000'000)), bundle_of(fixed_window(2'000'000'000))};
  const auto engine = open_engine({.bundle = bundles[0], .metrics = true});
  std::atomic<bool> ended = false;
  std::atomic<std::int64_t> wrong = 0;
  std::atomic<std::int64_t> checks = 0;
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < 6; ++thread) {
    threads.emplace_back([&] {
      v1::Decision decision;
      while (!ended) {
        engine->check({.resource = "GET:/orders", .subject = "user:42"}, decision);
        const bool known = decision.limit == 1'000'000'000 || decision.limit == 2'000'000'000;
        if (!decision.allowed || !known || !decision.status.ok()) ++wrong;
        ++checks;
      }
    });
  }
  for (int i = 1; i <= 200; ++i) {
    REQUIRE(engine->load(bundles[i % 2]).ok());
    REQUIRE(engine->check({.resource = "GET:/orders", .subject = "user:42"}).limit == (i % 2 + 1) * 1'000'000'000LL);
    if (i % 20 == 0) CHECK_FALSE(engine->load("{").ok());
  }
  while (checks < 1'000) std::this_thread::yield();
  ended = true;
  threads.clear();
  CHECK(wrong == 0);
  CHECK(engine->revision() == 201);
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
