// Engine::check(): what a program asks, and what it is told.
#include <doctest/doctest.h>

#include "sluice/engine.hpp"
#include "tests/unit/libsluice/bundles.hpp"

namespace sluice {
namespace {

using v1::Code;
using v1::Engine;
using v1::Request;

std::unique_ptr<Engine> open(v1::Options options) {
  auto opened = Engine::open(std::move(options));
  REQUIRE_MESSAGE(opened, opened.status.message);
  CHECK(opened.status.ok());
  return std::move(opened.engine);
}

TEST_CASE("a program is allowed as often as its bundle says, and then told when to come back") {
  const auto engine = open({.bundle = bundle_of(fixed_window(2)), .clock_us = [] { return 1'800'000'000'000'000; }});
  const Request request{.resource = "GET:/orders", .subject = "user:42"};
  v1::Decision decision;
  for (const std::int64_t remaining : {1, 0}) {
    engine->check(request, decision);
    CHECK(decision.allowed);
    CHECK(decision.action == v1::Action::allow);
    CHECK(decision.reason == v1::Reason::within_limit);
    CHECK(decision.limit == 2);
    CHECK(decision.remaining == remaining);
    CHECK(decision.policy == "orders");
    CHECK(decision.limit_name == "rate");
    CHECK(decision.retry_after == v1::Micros(0));
  }
  engine->check(request, decision);
  CHECK(decision.status.ok());
  CHECK_FALSE(decision.allowed);
  CHECK(decision.reason == v1::Reason::limit_exceeded);
  CHECK(decision.retry_after == std::chrono::hours(1));
  CHECK(engine->check({.resource = "GET:/orders", .subject = "user:43"}).allowed);
}

}  // namespace
}  // namespace sluice
