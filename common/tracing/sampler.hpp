// Decides which traces are recorded, by OpenTelemetry's samplers.
//
// A value; thread safety: any thread. No call allocates.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

#include "common/tracing/trace_context.hpp"

namespace sluice::tracing {

class Sampler {
 public:
  // Records the share `ratio` of the traces, from 0 to 1. If `parent_based`, a request that belongs to a trace already
  // is recorded if its caller records it, and the ratio is for the others.
  constexpr Sampler(bool parent_based, double ratio) : parent_based_(parent_based), bound_(bound_of(ratio)) {}
  constexpr Sampler() : Sampler(true, 1) {}

  // The value of OTEL_TRACES_SAMPLER, and its ratio where it takes one. Returns nullopt for another name.
  static std::optional<Sampler> named(std::string_view name, double ratio);
  static bool takes_ratio(std::string_view name) { return name.ends_with("traceidratio"); }
  static constexpr std::string_view kRule =
      "must be always_on, always_off, traceidratio, parentbased_always_on, parentbased_always_off or "
      "parentbased_traceidratio";

  bool follows(const SpanContext& parent) const { return parent_based_ ? parent.sampled() : takes(parent.trace_id); }

  // Whether a trace with this id is recorded if nobody has decided yet. All programs with the same ratio agree: the
  // last 8 bytes are compared with the ratio, as OpenTelemetry's SDKs for Go and Python do.
  bool takes(const TraceId& id) const { return bound_ == kAll || last_word(id) < bound_; }

  bool operator==(const Sampler&) const = default;

 private:
  static constexpr std::uint64_t kAll = std::numeric_limits<std::uint64_t>::max();

  static constexpr std::uint64_t bound_of(double ratio) {
    constexpr double kTwoTo64 = 18446744073709551616.0;
    if (!(ratio > 0)) return 0;
    return ratio >= 1 ? kAll : static_cast<std::uint64_t>(ratio * kTwoTo64);
  }
  static std::uint64_t last_word(const TraceId& id) {
    std::uint64_t word = 0;
    for (std::size_t i = 8; i < id.size(); ++i) word = word << 8 | id[i];
    return word;
  }

  bool parent_based_;
  std::uint64_t bound_;  // ids below it are taken
};

}  // namespace sluice::tracing
