// What is counted for each rule, under the names and labels that exporters of envoyproxy/ratelimit give
// (--ratelimit-metrics). One object for all workers.
//
//   configuration ── index() ──▶ Index: the series of each rule whose labels no request can change
//   a request of such a rule  ── one look-up in its Index, no lock
//   any other request         ── of_values(): its labels have values of the request (detailed_metric, value_to_metric,
//                                a limit that the request brings)
//
// The labels are the domain and key1, key2, … for each level. Series live as long as the program, so there is a bound
// for all of them, and a smaller one for those that requests make. What is beyond it is counted for its domain
// together, with key1="_other".
//
// Thread safety: any thread.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include "agent/rls/counts.hpp"
#include "common/rls_config/config.hpp"
#include "common/telemetry/instrument.hpp"
#include "common/telemetry/metric_table.hpp"

namespace sluice::agent::rls {

// What became of the hits of one descriptor.
struct JudgedHits {
  std::uint64_t hits = 0;
  std::uint64_t limit = 0;
  std::uint64_t remaining = 0;  // after these hits
  bool within = true;           // else they were over the limit
  bool shadow_mode = false;
};

enum class HitCounter : std::uint8_t { total_hits, within_limit, near_limit, over_limit, shadow_mode };
inline constexpr std::array<std::string_view, 5> kHitCounters{"total_hits", "within_limit", "near_limit", "over_limit",
                                                              "shadow_mode"};

class RuleSeries {
 public:
  void count(const JudgedHits& judged) noexcept;
  std::uint64_t value(HitCounter counter) const noexcept {
    return counts_[static_cast<std::size_t>(counter)].load(std::memory_order_relaxed);
  }

 private:
  void add(HitCounter counter, std::uint64_t hits) noexcept {
    if (hits > 0) counts_[static_cast<std::size_t>(counter)].fetch_add(hits, std::memory_order_relaxed);
  }

  std::array<std::atomic<std::uint64_t>, kHitCounters.size()> counts_{};
};

class RuleMetrics {
 public:
  using Index = boost::unordered_flat_map<const rls_config::Rule*, RuleSeries*>;

  static constexpr std::size_t kMaxSeries = 10'000;
  static constexpr std::size_t kMaxValueSeries = 2'000;
  static constexpr std::string_view kOther = "_other";

  RuleMetrics();
  RuleMetrics(const RuleMetrics&) = delete;
  RuleMetrics& operator=(const RuleMetrics&) = delete;
  ~RuleMetrics();

  // Makes the series of the rules. Former series stay. The result points into `config` and into this object.
  std::shared_ptr<const Index> index(const rls_config::Config& config);

  // `labels`: the domain and the parts of rls_config::append_metric_parts(), each ended by kPartEnd.
  RuleSeries& of_values(std::string_view labels);

  // Calls `see(labels, series)` for each series, in the order of the labels.
  void for_each(const std::function<void(std::string_view labels, const RuleSeries& series)>& see) const;

  // One for each of kHitCounters.
  const std::vector<std::unique_ptr<telemetry::Instrument>>& instruments() const { return instruments_; }

 private:
  RuleSeries* find(std::string_view labels) const;
  RuleSeries& take(std::string_view labels, bool of_values);

  std::vector<std::unique_ptr<telemetry::Instrument>> instruments_;
  mutable std::shared_mutex mutex_;  // guards the members below
  boost::unordered_flat_map<std::string, std::unique_ptr<RuleSeries>, rls_config::TextHash, std::equal_to<>> series_;
  std::size_t value_series_ = 0;
};

// Requests without an answer, by the names of envoyproxy/ratelimit.
const telemetry::MetricTable<Counts>& error_metrics();

}  // namespace sluice::agent::rls
