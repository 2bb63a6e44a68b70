#include "common/telemetry/histogram.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "common/telemetry/families.hpp"

namespace sluice::telemetry {

prometheus::ClientMetric histogram_sample(std::span<const double> bounds, std::span<const std::uint64_t> counts,
                                          double sum) {
  prometheus::ClientMetric made;
  prometheus::ClientMetric::Histogram& histogram = made.histogram;
  std::uint64_t cumulative = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    cumulative += counts[i];
    histogram.bucket.push_back({cumulative, i < bounds.size() ? bounds[i] : std::numeric_limits<double>::infinity()});
  }
  histogram.sample_count = cumulative;
  histogram.sample_sum = sum;
  return made;
}

DurationBuckets::Totals DurationBuckets::totals() const {
  Totals totals;
  for (std::size_t i = 0; i < buckets_.size(); ++i) totals.counts[i] = buckets_[i].load(std::memory_order_relaxed);
  totals.sum_ns = sum_ns_.load(std::memory_order_relaxed);
  return totals;
}

bool DurationBuckets::Totals::empty() const {
  return std::ranges::all_of(counts, [](std::uint64_t count) { return count == 0; });
}

DurationBuckets::Totals& DurationBuckets::Totals::operator+=(const Totals& other) {
  for (std::size_t i = 0; i < counts.size(); ++i) counts[i] += other.counts[i];
  sum_ns += other.sum_ns;
  return *this;
}

prometheus::ClientMetric DurationBuckets::Totals::sample(double units_per_second) const {
  const double ns_per_unit = 1e9 / units_per_second;
  std::array<double, kBoundsNs.size()> bounds;
  std::ranges::transform(kBoundsNs, bounds.begin(),
                         [ns_per_unit](std::uint64_t ns) { return static_cast<double>(ns) / ns_per_unit; });
  return histogram_sample(bounds, counts, static_cast<double>(sum_ns) / ns_per_unit);
}

std::vector<prometheus::MetricFamily> DurationHistogram::Collect() const {
  prometheus::MetricFamily made = family(spec());
  made.metric.push_back(buckets_.sample());
  return {std::move(made)};
}

}  // namespace sluice::telemetry
