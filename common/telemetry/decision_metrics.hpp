// What is counted by tenant, and by policy with --metrics-policy-label. Thread-safe.
// - `sluice_decisions_total{tenant,outcome,reason[,policy]}` counts every decision exactly once.
// - `sluice_limit_utilization[{tenant,policy}]`: the share of the binding limit that was used at a decision.
// - `sluice_decisions_near_limit_total{tenant[,policy]}`: a scrape reads it from the same histogram.
// - `sluice_shadow_decisions_total{tenant,outcome[,policy]}`: what shadows found.
//
// A worker (a thread that answers checks) looks up the counters of a tenant (and policy) once for each snapshot and
// keeps the reference. Counting is then one relaxed atomic addition, and two for the histogram.
#pragma once

#include <prometheus/metric_family.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/domain/decision.hpp"
#include "common/telemetry/instrument.hpp"
#include "common/telemetry/label_bounds.hpp"
#include "common/telemetry/utilization.hpp"

namespace sluice::telemetry {

// Aligned to a cache line, so that workers do not slow each other down.
class alignas(64) DecisionCounters {
 public:
  void count(bool allowed, Reason reason) noexcept {
    counts_[allowed ? 1 : 0][static_cast<std::size_t>(reason)].fetch_add(1, std::memory_order_relaxed);
  }
  std::uint64_t value(bool allowed, Reason reason) const noexcept {
    return counts_[allowed ? 1 : 0][static_cast<std::size_t>(reason)].load(std::memory_order_relaxed);
  }

  void count_shadow(bool over_limit) noexcept { shadows_[over_limit ? 1 : 0].fetch_add(1, std::memory_order_relaxed); }
  std::uint64_t shadows(bool over_limit) const noexcept {
    return shadows_[over_limit ? 1 : 0].load(std::memory_order_relaxed);
  }

  UtilizationBuckets utilization;

 private:
  std::array<std::array<std::atomic<std::uint64_t>, kReasons>, 2> counts_{};
  std::array<std::atomic<std::uint64_t>, 2> shadows_{};
};

class DecisionMetrics final : public Instrument {
 public:
  // With `policy_label`, the first kMaxPolicies policies have their id as the label `policy`. The first kMaxTenants
  // tenants have their id as the label `tenant`. Later ones share the value `other`.
  explicit DecisionMetrics(bool policy_label);

  // The ids come from the snapshot, never from a request. `tenant` is "" for decisions before the tenant is known,
  // `policy` is "" where no policy decided. Takes a lock, so do not call this function for each decision. The counters
  // live as long as the DecisionMetrics.
  DecisionCounters& counters(std::string_view tenant, std::string_view policy = {});

  bool policy_label() const { return policy_label_; }

  // Calls `use(tenant, policy, counters)` for each pair of them, in order.
  template <class Use>
  void for_each(Use use) const {
    const std::lock_guard lock(mutex_);
    for (const auto& [names, block] : blocks_) use(names.first, names.second, *block);
  }

  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  using Names = std::pair<std::string, std::string>;  // tenant, policy

  const bool policy_label_;
  mutable std::mutex mutex_;  // guards the members below
  std::map<Names, std::unique_ptr<DecisionCounters>> blocks_;
  TenantValues tenants_;
  std::size_t policies_ = 0;  // policies with a label value of their own
};

// Each of these reads the DecisionMetrics, which outlive every scrape.

class LimitUtilization final : public Instrument {
 public:
  explicit LimitUtilization(const DecisionMetrics& decisions);
  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  const DecisionMetrics& decisions_;
};

class NearLimit final : public Instrument {
 public:
  explicit NearLimit(const DecisionMetrics& decisions);
  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  const DecisionMetrics& decisions_;
};

class ShadowDecisions final : public Instrument {
 public:
  explicit ShadowDecisions(const DecisionMetrics& decisions);
  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  const DecisionMetrics& decisions_;
};

}  // namespace sluice::telemetry
