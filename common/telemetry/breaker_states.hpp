// `sluice_breaker_state{endpoint}`: the state of the circuit breaker of each Redis.
//
// Thread safety: all functions from any thread.
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
  // `workers`: the number of workers (threads with connections to Redis). Each has a breaker of its own for each
  // endpoint.
  explicit BreakerStates(std::size_t workers);

  // `endpoint` comes from the configuration or from Redis, never from a request. `state`: 0 closed, 1 half-open,
  // 2 open.
  void set(std::size_t worker, const std::string& endpoint, int state);
  void remove(std::size_t worker, const std::string& endpoint);  // the worker no longer uses the endpoint

  // Shows the worst state of all workers.
  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  const std::size_t workers_;
  mutable std::mutex mutex_;
  // By endpoint, then by worker. nullopt: the worker does not use the endpoint.
  std::map<std::string, std::vector<std::optional<int>>> states_;
};

}  // namespace sluice::telemetry
