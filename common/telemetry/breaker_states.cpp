#include "common/telemetry/breaker_states.hpp"

#include <algorithm>
#include <utility>

#include "common/telemetry/families.hpp"

namespace sluice::telemetry {

BreakerStates::BreakerStates(std::size_t workers)
    : Instrument({.name = "sluice_breaker_state",
                  .type = kGauge,
                  .help = "State of the circuit breaker of each Redis: 0 closed, commands are sent; 1 half-open, one "
                          "command is tried; 2 open, Redis does not answer and commands are refused at once. Shows the "
                          "worst state of all workers.",
                  .labels = {{.name = "endpoint", .about = "address of Redis"}}}),
      workers_(workers) {}

void BreakerStates::set(std::size_t worker, const std::string& endpoint, int state) {
  const std::lock_guard lock(mutex_);
  states_.try_emplace(endpoint, workers_).first->second.at(worker) = state;
}

void BreakerStates::remove(std::size_t worker, const std::string& endpoint) {
  const std::lock_guard lock(mutex_);
  const auto found = states_.find(endpoint);
  if (found == states_.end()) return;
  found->second.at(worker).reset();
  if (std::ranges::none_of(found->second, [](const auto& state) { return state.has_value(); })) states_.erase(found);
}

std::vector<prometheus::MetricFamily> BreakerStates::Collect() const {
  prometheus::MetricFamily made = family(spec());
  const std::lock_guard lock(mutex_);
  for (const auto& [endpoint, states] : states_) {
    add_sample(made, {{spec().labels.front().name, endpoint}}, *std::ranges::max(states));
  }
  return {std::move(made)};
}

}  // namespace sluice::telemetry
