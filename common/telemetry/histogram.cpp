#include "common/telemetry/histogram.hpp"

#include <limits>
#include <utility>

#include "common/telemetry/families.hpp"

namespace sluice::telemetry {

prometheus::ClientMetric DurationBuckets::sample() const {
  prometheus::ClientMetric made;
  prometheus::ClientMetric::Histogram& histogram = made.histogram;
  std::uint64_t cumulative = 0;
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    cumulative += buckets_[i].load(std::memory_order_relaxed);
    const double bound =
        i < kBoundsNs.size() ? static_cast<double>(kBoundsNs[i]) / 1e9 : std::numeric_limits<double>::infinity();
    histogram.bucket.push_back({cumulative, bound});
  }
  histogram.sample_count = cumulative;
  histogram.sample_sum = static_cast<double>(sum_ns_.load(std::memory_order_relaxed)) / 1e9;
  return made;
}

std::vector<prometheus::MetricFamily> DurationHistogram::Collect() const {
  prometheus::MetricFamily made = family(spec());
  made.metric.push_back(buckets_.sample());
  return {std::move(made)};
}

}  // namespace sluice::telemetry
