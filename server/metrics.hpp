// What the server counts and exposes.
//
// Thread safety: counting from any thread, without a lock; render() from any thread. No label comes from a request.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include <prometheus/metric_type.h>

#include "common/telemetry/counters.hpp"
#include "common/telemetry/histogram.hpp"
#include "common/telemetry/process_metrics.hpp"
#include "server/admin/routes.hpp"
#include "server/postgres/pool.hpp"

namespace sluice::server {

class Metrics {
 public:
  explicit Metrics(const Pool& pool);

  // A call was answered. `route`: nullptr where it had none.
  void count_request(const Route* route, unsigned status, std::chrono::nanoseconds took) noexcept;

  // Exposes a value that somebody else keeps. Before the first scrape; `read` may then be called from any thread.
  void add(std::string name, std::string help, prometheus::MetricType type, std::function<double()> read);

  // The same for what collects itself; it outlives every scrape.
  void add(const prometheus::Collectable& part) { parts_.push_back(&part); }

  std::string render() const;

 private:
  struct Extra {
    std::string name;
    std::string help;
    prometheus::MetricType type;
    std::function<double()> read;
  };

  prometheus::MetricFamily durations() const;
  void collect_pool(std::vector<prometheus::MetricFamily>& families) const;

  const Pool& pool_;
  telemetry::HttpCounters requests_;
  std::deque<telemetry::DurationHistogram> durations_;  // by index of the route; the last for paths that are none
  telemetry::ProcessMetrics process_;
  std::vector<Extra> extras_;
  std::vector<const prometheus::Collectable*> parts_;
};

}  // namespace sluice::server
