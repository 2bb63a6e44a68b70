// Estimates how full Redis is and which tenants fill it, for metrics and alerts: asks each primary for its memory and
// for random keys. Redis needs about 1 ms for one survey.
//
// Each server surveys by itself, so an alert needs no particular one.
//
// Threads: run() on one thread at a time; the instruments on any thread.
#pragma once

#include <cstddef>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/base/error.hpp"
#include "common/telemetry/instrument.hpp"
#include "common/telemetry/registry.hpp"
#include "server/counters/redis_link.hpp"
#include "server/counters/tenant_shares.hpp"

namespace sluice::server::counters {

// A gauge whose samples are replaced together. Each has one label; without a value for it, the sample has no label.
class GaugeRows final : public telemetry::Instrument {
 public:
  using Instrument::Instrument;
  using Rows = std::vector<std::pair<std::string, double>>;  // value of the label, value of the gauge

  void replace(Rows rows);
  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  mutable std::mutex mutex_;
  Rows rows_;
};

class MemorySurvey {
 public:
  static constexpr std::size_t kKeysPerNode = 400;
  static constexpr std::size_t kKeysAtOnce = 50;  // Redis serves others between two batches
  static constexpr std::size_t kTenants = 10;     // that metrics name

  explicit MemorySurvey(RedisLink& link) : link_(link) {}

  // Asks Redis. What is not answered is missing in the metrics until the next run. Returns the last error, if any.
  Result<> run();

  // Removes what the metrics show, because nobody knows whether it still holds.
  void forget();

  void add_metrics(telemetry::Registry& registry) const;
  static std::vector<telemetry::MetricSpec> specs();

 private:
  Result<NodeSample> sample(const std::string& key_of_node);
  void show(std::span<const TenantShare> shares);

  RedisLink& link_;
  GaugeRows used_{specs()[0]};
  GaugeRows max_{specs()[1]};
  GaugeRows tenant_share_{specs()[2]};
  GaugeRows tenant_margin_{specs()[3]};
  GaugeRows tenant_bytes_{specs()[4]};
  GaugeRows tenant_keys_{specs()[5]};
};

}  // namespace sluice::server::counters
