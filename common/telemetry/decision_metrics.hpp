// `sluice_decisions_total{tenant,outcome,reason[,policy]}` counts every decision exactly once, so its sum over all
// labels is the number of checks that got a decision.
//
// A worker (a thread that answers checks) looks up the counters of a tenant (and policy) once for each snapshot and
// keeps the reference. Counting is then one relaxed atomic addition, without a look-up or an allocation.
//
// Thread safety: all functions from any thread. DecisionCounters stay at their address as long as the DecisionMetrics
// exist.
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

namespace sluice::telemetry {

// Aligned to a cache line, so that workers counting for different tenants do not slow each other down.
class alignas(64) DecisionCounters {
 public:
  void count(bool allowed, Reason reason) noexcept {
    counts_[allowed ? 1 : 0][static_cast<std::size_t>(reason)].fetch_add(1, std::memory_order_relaxed);
  }
  std::uint64_t value(bool allowed, Reason reason) const noexcept {
    return counts_[allowed ? 1 : 0][static_cast<std::size_t>(reason)].load(std::memory_order_relaxed);
  }

 private:
  std::array<std::array<std::atomic<std::uint64_t>, kReasons>, 2> counts_{};
};

class DecisionMetrics final : public Instrument {
 public:
  static constexpr std::size_t kMaxPolicies = 200;

  // `policy_label`: add the label `policy`. The first kMaxPolicies policies have their ids as its value; later policies
  // share the value `other`.
  explicit DecisionMetrics(bool policy_label);

  // The counters of a tenant and policy. Both ids come from the snapshot, never from a request. `tenant` is "" for
  // decisions before the tenant is known (no_snapshot, overload), `policy` is "" where no policy decided. Takes a lock
  // and may allocate, so do not call it for each decision.
  DecisionCounters& counters(std::string_view tenant, std::string_view policy = {});

  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  using Names = std::pair<std::string, std::string>;  // tenant, policy

  const bool policy_label_;
  mutable std::mutex mutex_;  // guards the members below, but not the counts, which are atomic
  std::map<Names, std::unique_ptr<DecisionCounters>> blocks_;
  std::size_t policies_ = 0;  // policies with a label of their own so far
};

}  // namespace sluice::telemetry
