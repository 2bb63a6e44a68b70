// `sluice_decisions_total{tenant,outcome,reason[,policy]}`: every decision exactly once, so that its sum over all
// labels is the number of checks answered with a decision.
//
// How it is quick: whoever decides gets the block of a tenant (and policy) once, when a snapshot is loaded, and keeps
// the reference; counting is one relaxed atomic addition, without a look-up or an allocation.
//
// Thread safety: all functions, from any thread. Blocks live and stay where they are as long as this object.
#pragma once

#include <prometheus/collectable.h>
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

namespace sluice::telemetry {

// A cache line apart from its neighbours, so that two tenants' workers do not slow each other.
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

class DecisionMetrics final : public prometheus::Collectable {
 public:
  static constexpr std::size_t kMaxPolicies = 200;

  // `policy_label`: tell policies apart, the first kMaxPolicies that are asked for; the rest is `other`.
  explicit DecisionMetrics(bool policy_label) : policy_label_(policy_label) {}

  // Both ids come from the administrator's bundle, never from a request. `tenant` "" is for decisions before a tenant
  // is known (no_snapshot, overload); `policy` "" for those that no policy made. Takes a lock and may allocate.
  DecisionCounters& counters(std::string_view tenant, std::string_view policy = {});

  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  using Names = std::pair<std::string, std::string>;  // tenant, policy

  const bool policy_label_;
  mutable std::mutex mutex_;  // guards what follows; not the counts
  std::map<Names, std::unique_ptr<DecisionCounters>> blocks_;
  std::size_t policies_ = 0;  // told apart so far
};

}  // namespace sluice::telemetry
