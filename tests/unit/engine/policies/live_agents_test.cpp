#include "engine/policies/live_agents.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <thread>

#include <fmt/core.h>

namespace sluice::policies {
namespace {

TEST_CASE("the number of agents is a tenant's own, or that of every other") {
  LiveAgents live;
  CHECK(live.of("shop") == 0);
  live.set({{"*", 4}, {"shop", 12}});
  CHECK(live.of("shop") == 12);
  CHECK(live.of("bank") == 4);
  live.set({{"shop", 11}});
  CHECK(live.of("shop") == 11);
  CHECK(live.of("bank") == 0);
  live.set({{"*", 3}});
  CHECK(live.of("shop") == 3);
  live.set({});
  CHECK(live.of("shop") == 0);
}

TEST_CASE("it is read while it is set and grows, and every number read was set") {
  LiveAgents live;
  std::atomic<bool> done{false};
  std::atomic<bool> wrong{false};
  {
    std::vector<std::jthread> readers;
    for (unsigned seed = 0; seed < 2; ++seed) {
      readers.emplace_back([&, seed] {
        for (unsigned i = seed; !done; ++i) {
          const std::int64_t agents = live.of(fmt::format("t{}", i % 600));
          if (agents != 0 && agents != 7 && agents != i % 600 + 1000) wrong = true;
        }
      });
    }
    sync::LiveAgents counts{{"*", 7}};
    for (int i = 0; i < 500; ++i) {
      counts[fmt::format("t{}", i)] = i + 1000;
      live.set(counts);
      if (i % 50 == 0) live.set({{"*", 7}});
    }
    live.set(counts);
    done = true;
  }
  CHECK(!wrong);
  for (int i = 0; i < 500; ++i) CHECK(live.of(fmt::format("t{}", i)) == i + 1000);
  CHECK(live.of("t500") == 7);
}

}  // namespace
}  // namespace sluice::policies
