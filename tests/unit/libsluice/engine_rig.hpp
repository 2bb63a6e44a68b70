// Engines for the tests of the library, with a clock that a test sets.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include <doctest/doctest.h>

#include "sluice/engine.hpp"
#include "tests/unit/libsluice/bundles.hpp"

namespace sluice {

// Judged by the policy of bundle_of().
inline const v1::Request kOrders{.resource = "GET:/orders", .subject = "user:42"};

inline std::unique_ptr<v1::Engine> open_engine(v1::Options options) {
  auto opened = v1::Engine::open(std::move(options));
  REQUIRE_MESSAGE(opened, opened.status.message);
  CHECK(opened.status.ok());
  return std::move(opened.engine);
}

// Whether `done()` becomes true within 15 s.
template <class Done>
bool until(Done done) {
  for (int i = 0; i < 1'500; ++i) {
    if (done()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

// REQUIRES: one thread uses the engine.
struct EngineRig {
  explicit EngineRig(std::string bundle, v1::Options options = {}) {
    options.bundle = std::move(bundle);
    options.clock_us = [this] { return now_us; };
    engine = open_engine(std::move(options));
  }

  const v1::Decision& check(const v1::Request& request) {
    engine->check(request, decision);
    return decision;
  }
  v1::Code code(const v1::Request& request) { return check(request).status.code; }

  std::int64_t now_us = 1'800'230'400'000'000;  // a Monday's midnight
  v1::Decision decision;
  std::unique_ptr<v1::Engine> engine;
};

}  // namespace sluice
