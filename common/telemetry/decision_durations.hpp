// How long decisions took, by the algorithm of the limit that decided and by outcome. Thread-safe without a lock: an
// observation is two relaxed atomic additions.
//
// `sluice_decision_duration_seconds` has no label: a scrape adds up the histograms of all algorithms and outcomes.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <optional>
#include <vector>

#include "common/domain/plan.hpp"
#include "common/telemetry/histogram.hpp"
#include "common/telemetry/instrument.hpp"

namespace sluice::telemetry {

class DecisionDurations final : public Instrument {
 public:
  DecisionDurations();

  // `algorithm`: nullopt if no limit was judged.
  void observe(std::optional<Algorithm> algorithm, bool allowed, std::chrono::nanoseconds took) noexcept {
    const std::size_t row = algorithm ? static_cast<std::size_t>(*algorithm) : rows_.size() - 1;
    rows_[row][allowed ? 1 : 0].observe(took);
  }

  // Calls `use(name of the algorithm, allowed, totals)` for each algorithm and outcome; the last name is `none`.
  template <class Use>
  void for_each(Use use) const {
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      for (const bool allowed : {true, false}) use(names_[row], allowed, rows_[row][allowed ? 1 : 0].totals());
    }
  }

  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  const std::vector<std::string> names_;              // of the algorithms, in the order of the enum, and `none`
  std::vector<std::array<DurationBuckets, 2>> rows_;  // by algorithm, then by whether the check was allowed
};

// `sluice_algorithm_duration_seconds{algorithm,outcome}`, with the series that have observations.
class AlgorithmDurations final : public Instrument {
 public:
  // REQUIRES: `durations` outlives every scrape.
  explicit AlgorithmDurations(const DecisionDurations& durations);

  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  const DecisionDurations& durations_;
};

}  // namespace sluice::telemetry
