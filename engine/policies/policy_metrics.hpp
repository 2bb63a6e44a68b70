// What the policies in force contain, read at each scrape: how many objects there are, and the configured limits.
// Thread-safe.
//
// The limits are listed once for each snapshot: those of the first tenants by id, each tenant's policies before its
// plans, until there are kMaxListed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "common/base/clock.hpp"
#include "common/domain/plan.hpp"
#include "common/policy/snapshot.hpp"
#include "common/telemetry/instrument.hpp"
#include "common/telemetry/metric_table.hpp"

namespace sluice::policies {

class PolicyMetrics {
 public:
  // The most limits that are listed.
  static constexpr std::size_t kMaxListed = 1'000;

  // nullptr: no policies are in force. The owner of the snapshot keeps it until nobody else refers to it, because
  // freeing it takes long.
  void set_snapshot(std::shared_ptr<const policy::Snapshot> snapshot);

  struct ListedLimit {
    std::string tenant;
    std::string policy;  // "": a plan, for checks that name it
    std::string plan;    // "": the policy has limits of its own
    Limit limit;
  };
  struct Listing {
    std::vector<ListedLimit> limits;
    std::size_t omitted = 0;  // policies and plans that have limits which are not listed
  };
  // Empty if there are no policies.
  std::shared_ptr<const Listing> listing() const;

  static const telemetry::MetricTable<PolicyMetrics>& metric_table();
  static const telemetry::MetricTable<PolicyMetrics>& listing_table();

 private:
  std::optional<double> size(std::size_t (*of)(const policy::Snapshot& snapshot)) const;

  mutable std::mutex mutex_;  // guards the members below
  std::shared_ptr<const policy::Snapshot> snapshot_;
  mutable std::shared_ptr<const Listing> listing_;  // of snapshot_; nullptr: not made yet
};

// `sluice_limit_configured{tenant,policy,plan,limit,algorithm}`
class ConfiguredLimits final : public telemetry::Instrument {
 public:
  // REQUIRES: `policies` outlives every scrape.
  explicit ConfiguredLimits(const PolicyMetrics& policies);
  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  const PolicyMetrics& policies_;
};

// `sluice_limit_window_seconds`, with the same labels.
class LimitWindows final : public telemetry::Instrument {
 public:
  // REQUIRES: `policies` and `clock` outlive every scrape.
  LimitWindows(const PolicyMetrics& policies, const Clock& clock);
  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  const PolicyMetrics& policies_;
  const Clock& clock_;
};

}  // namespace sluice::policies
