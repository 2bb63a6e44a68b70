// `sluice_breaker_state{endpoint}`: the state of the circuit breaker of each Redis. Thread-safe.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "common/telemetry/instrument.hpp"

namespace sluice::telemetry {

class BreakerStates final : public Instrument {
 public:
  // Each worker (a thread with connections to Redis) has a breaker of its own for each endpoint.
  explicit BreakerStates(std::size_t workers);

  // `endpoint` never comes from a request. `state` is 0 for closed, 1 for half-open, 2 for open.
  void set(std::size_t worker, const std::string& endpoint, int state);
  void remove(std::size_t worker, const std::string& endpoint);

  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  const std::size_t workers_;
  mutable std::mutex mutex_;
  // By endpoint, then by worker; nullopt for workers that do not use the endpoint.
  std::map<std::string, std::vector<std::optional<int>>> states_;
};

}  // namespace sluice::telemetry
