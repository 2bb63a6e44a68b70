#include "server/playground/metrics.hpp"

namespace sluice::server::playground {

const telemetry::MetricTable<AgentCalls::Statistics>& metrics() {
  using Counted = AgentCalls::Statistics;
  static const telemetry::MetricTable<Counted> table{
      {"sluice_playground_checks_total",
       telemetry::kCounter,
       "Checks of the playground. `answered`: its agent answered, whatever it decided. `failed`: it did not. "
       "`refused`: "
       "too many were in flight, so the agent was not asked.",
       "outcome",
       {{"answered", &Counted::answered}, {"failed", &Counted::failed}, {"refused", &Counted::refused}}},
      {"sluice_playground_in_flight", telemetry::kGauge, "Checks of the playground that wait for its agent.",
       &Counted::in_flight},
  };
  return table;
}

}  // namespace sluice::server::playground
