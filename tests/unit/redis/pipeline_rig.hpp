// A pipeline, driven as the client drives it.
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <string_view>

#include "common/redis/pipeline.hpp"
#include "tests/unit/redis/recorder.hpp"

namespace sluice::redis::test {

using namespace std::chrono_literals;
using TimePoint = Pipeline::TimePoint;

inline constexpr TimePoint kStart{1000s};

// A pipeline whose commands have 25 ms, as the client drives it.
struct Rig {
  Pipeline pipeline{50ms};
  std::string out;

  void begin(Recorder& handler, std::string_view word, TimePoint deadline = kStart + 25ms) {
    pipeline.begin(handler, deadline).array(1).bulk(word);
  }
  std::string send(TimePoint now = kStart) {
    REQUIRE(pipeline.take_output(out, now));
    return out;
  }
  void feed(std::string_view bytes, TimePoint now = kStart) { REQUIRE(pipeline.feed(bytes, now)); }
};

inline std::string command(std::string_view word) {
  std::string text;
  CommandWriter(text).array(1).bulk(word);
  return text;
}

}  // namespace sluice::redis::test
