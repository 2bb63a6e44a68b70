#include "agent/rls/counts.hpp"

#include <string>
#include <vector>

namespace sluice::agent::rls {
namespace {

template <std::size_t kCount>
std::vector<telemetry::LabelledReading<Counts>> readings(
    const std::array<std::string_view, kCount>& names,
    std::array<std::atomic<std::uint64_t>, kCount> Counts::* counters) {
  std::vector<telemetry::LabelledReading<Counts>> found;
  found.reserve(kCount);
  for (std::size_t i = 0; i < kCount; ++i) {
    found.push_back({std::string(names[i]), [counters, i](const Counts& counts) {
                       return (counts.*counters)[i].load(std::memory_order_relaxed);
                     }});
  }
  return found;
}

}  // namespace

RequestOutcome outcome_of(Refusal::Kind kind) {
  switch (kind) {
    case Refusal::Kind::invalid:
      return RequestOutcome::invalid;
    case Refusal::Kind::overload:
    case Refusal::Kind::out_of_memory:
      return RequestOutcome::overload;
    case Refusal::Kind::no_config:
    case Refusal::Kind::store_unavailable:
      break;
  }
  return RequestOutcome::unavailable;
}

void Counts::count(Refusal::Kind kind) noexcept { count(outcome_of(kind)); }

const telemetry::MetricTable<Counts>& count_metrics() {
  static const telemetry::MetricTable<Counts> table{
      {"sluice_ratelimit_requests_total", telemetry::kCounter,
       "Requests to the rate limit service: ok and over_limit are answers; invalid requests, those beyond the agent's "
       "capacity (overload) and those that the counter store did not judge (unavailable) get an error.",
       "outcome", readings(kRequestOutcomes, &Counts::requests)},
      {"sluice_ratelimit_descriptors_total", telemetry::kCounter,
       "Descriptors of answered requests. shadowed: over a limit of shadow_mode. no_limit: no rule matches, or another "
       "rule replaces it.",
       "outcome", readings(kDescriptorOutcomes, &Counts::descriptors)},
  };
  return table;
}

}  // namespace sluice::agent::rls
