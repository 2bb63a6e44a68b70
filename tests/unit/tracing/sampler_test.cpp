#include "common/tracing/sampler.hpp"

#include <doctest/doctest.h>

using namespace sluice::tracing;

namespace {

SpanContext parent(bool sampled, TraceId id = {1}) {
  return {.trace_id = id, .span_id = {1}, .flags = sampled ? SpanContext::kSampled : std::uint8_t{0}};
}

TraceId ending_with(std::uint8_t first_of_last_eight) {
  TraceId id{};
  id[8] = first_of_last_eight;
  return id;
}

}  // namespace

TEST_CASE("A sampler that is based on the parent does as the parent, whatever its ratio") {
  for (const double ratio : {0.0, 0.5, 1.0}) {
    CHECK(Sampler(true, ratio).follows(parent(true)));
    CHECK_FALSE(Sampler(true, ratio).follows(parent(false)));
  }
}

TEST_CASE("A sampler that is not based on the parent ignores what the parent does") {
  CHECK(Sampler(false, 1).follows(parent(false)));
  CHECK_FALSE(Sampler(false, 0).follows(parent(true)));
}

TEST_CASE("The ratio compares the last eight bytes of the trace's id, so all programs take the same traces") {
  const Sampler quarter(false, 0.25);
  CHECK(quarter.takes(ending_with(0x00)));
  CHECK(quarter.takes(ending_with(0x3f)));
  CHECK_FALSE(quarter.takes(ending_with(0x40)));
  CHECK_FALSE(quarter.takes(ending_with(0xff)));
  TraceId other_half = ending_with(0x3f);
  other_half[0] = 0xff;
  CHECK(quarter.takes(other_half));
  CHECK(quarter.follows(parent(false, ending_with(0x3f))));
}

TEST_CASE("Ratio 1 takes every id, ratio 0 takes none") {
  TraceId most;
  most.fill(0xff);
  CHECK(Sampler(false, 1).takes(most));
  CHECK(Sampler(false, 1).takes(TraceId{}));
  CHECK_FALSE(Sampler(false, 0).takes(TraceId{}));
}

TEST_CASE("Of random ids the sampler takes about its share") {
  const Sampler tenth(true, 0.1);
  int taken = 0;
  for (int i = 0; i < 100'000; ++i) taken += tenth.takes(random_trace_id()) ? 1 : 0;
  CHECK(taken > 9'000);
  CHECK(taken < 11'000);
}

TEST_CASE("OpenTelemetry's names give their samplers") {
  CHECK(Sampler::named("always_on", 0.5) == Sampler(false, 1));
  CHECK(Sampler::named("always_off", 0.5) == Sampler(false, 0));
  CHECK(Sampler::named("traceidratio", 0.5) == Sampler(false, 0.5));
  CHECK(Sampler::named("parentbased_always_on", 0.5) == Sampler(true, 1));
  CHECK(Sampler::named("parentbased_always_off", 0.5) == Sampler(true, 0));
  CHECK(Sampler::named("parentbased_traceidratio", 0.5) == Sampler(true, 0.5));
  CHECK_FALSE(Sampler::named("jaeger_remote", 0.5));
  CHECK_FALSE(Sampler::named("", 0.5));
}
