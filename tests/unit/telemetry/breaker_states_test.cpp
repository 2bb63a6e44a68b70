#include "common/telemetry/breaker_states.hpp"

#include <doctest/doctest.h>

#include "tests/unit/telemetry/scraped.hpp"

namespace sluice::telemetry {
namespace {

TEST_CASE("The breaker of an endpoint is as open as that of its worst worker") {
  BreakerStates states(2);
  Registry registry;
  registry.add(states);
  states.set(0, "a:1", 0);
  states.set(1, "a:1", 2);
  states.set(1, "b:2", 1);
  CHECK(Scraped(registry)[R"(sluice_breaker_state{endpoint="a:1"})"] == 2);
  CHECK(Scraped(registry)[R"(sluice_breaker_state{endpoint="b:2"})"] == 1);
  states.set(1, "a:1", 1);
  CHECK(Scraped(registry)[R"(sluice_breaker_state{endpoint="a:1"})"] == 1);
}

}  // namespace
}  // namespace sluice::telemetry
