#include "common/telemetry/utilization.hpp"

#include "common/telemetry/histogram.hpp"

namespace sluice::telemetry {

UtilizationBuckets::Totals UtilizationBuckets::totals() const {
  Totals totals;
  for (std::size_t i = 0; i < buckets_.size(); ++i) totals.counts[i] = buckets_[i].load(std::memory_order_relaxed);
  totals.sum = sum_.load(std::memory_order_relaxed);
  return totals;
}

bool UtilizationBuckets::Totals::empty() const {
  return std::ranges::all_of(counts, [](std::uint64_t count) { return count == 0; });
}

std::uint64_t UtilizationBuckets::Totals::near_limit() const {
  std::uint64_t above = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) above += kBounds[i] > 0.8 ? counts[i] : 0;
  return above;
}

UtilizationBuckets::Totals& UtilizationBuckets::Totals::operator+=(const Totals& other) {
  for (std::size_t i = 0; i < counts.size(); ++i) counts[i] += other.counts[i];
  sum += other.sum;
  return *this;
}

// Nothing is above the last bound.
prometheus::ClientMetric UtilizationBuckets::Totals::sample() const {
  std::array<std::uint64_t, kBounds.size() + 1> with_infinity{};
  std::ranges::copy(counts, with_infinity.begin());
  return histogram_sample(kBounds, with_infinity, static_cast<double>(sum) / kWhole);
}

}  // namespace sluice::telemetry
