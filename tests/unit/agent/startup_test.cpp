#include "agent/startup.hpp"

#include <doctest/doctest.h>

namespace sluice::agent {
namespace {

using namespace std::chrono_literals;

const Startup::Time kBegin{100s};

}  // namespace

TEST_CASE("an agent has started once it decides by policies and its counters have answered") {
  Startup startup(kBegin + 3s);
  CHECK(startup.waits_for(kBegin, false, false).size() == 2);
  CHECK(startup.waits_for(kBegin + 1s, true, false) ==
        std::vector<std::string>{"the first answer of the counter store"});
  CHECK(startup.waits_for(kBegin + 1s, false, true) == std::vector<std::string>{"policies"});
  CHECK(startup.waits_for(kBegin + 2s, true, true).empty());
}

TEST_CASE("it waits so long and no longer, whatever is missing") {
  Startup startup(kBegin + 3s);
  CHECK_FALSE(startup.waits_for(kBegin + 2999ms, false, false).empty());
  CHECK(startup.waits_for(kBegin + 3s, false, false).empty());
}

TEST_CASE("what has started once has started: a store that is lost later is no start") {
  Startup startup(kBegin + 3s);
  CHECK(startup.waits_for(kBegin, true, true).empty());
  CHECK(startup.waits_for(kBegin + 1s, false, false).empty());
}

}  // namespace sluice::agent
