// `sluice_decisions_total{tenant,outcome,reason[,policy]}` counts every decision exactly once. Thread-safe.
//
// A worker (a thread that answers checks) looks up the counters of a tenant (and policy) once for each snapshot and
// keeps the reference. Counting is then one relaxed atomic addition.
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

// Aligned to a cache line, so that workers do not slow each other down.
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

  // With `policy_label`, the first kMaxPolicies policies have their id as the label `policy`; later policies share the
  // value `other`.
  explicit DecisionMetrics(bool policy_label);

  // The ids come from the snapshot, never from a request. `tenant` is "" for decisions before the tenant is known,
  // `policy` is "" where no policy decided. Takes a lock, so do not call this function for each decision. The counters
  // live as long as the DecisionMetrics.
  DecisionCounters& counters(std::string_view tenant, std::string_view policy = {});

  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  using Names = std::pair<std::string, std::string>;  // tenant, policy

  const bool policy_label_;
  mutable std::mutex mutex_;  // guards the members below
  std::map<Names, std::unique_ptr<DecisionCounters>> blocks_;
  std::size_t policies_ = 0;  // policies with a label value of their own
};

}  // namespace sluice::telemetry
