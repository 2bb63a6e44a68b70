// Counts, logs and records the decisions of one worker: metrics, the decision log, usage for the server's analytics,
// and checks for what-if.
//
// Thread: one worker's. In the steady state it allocates nothing.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>

#include "common/base/clock.hpp"
#include "common/telemetry/decision_log.hpp"
#include "common/telemetry/metrics.hpp"
#include "engine/decide/observer.hpp"
#include "engine/usage/usage.hpp"
#include "engine/whatif/request_ring.hpp"

namespace sluice::usage {

class Recorder final : public decide::DecisionObserver {
 public:
  // `policy_label`: add a policy label to decision metrics. `usage`: nullptr without --server.
  Recorder(telemetry::Metrics& metrics, telemetry::DecisionLog& log, bool policy_label, WorkerUsage* usage)
      : metrics_(metrics), log_(log), policy_label_(policy_label), usage_(usage) {}

  // From now on, also records the checks of tenants that ask for it. `clock`: for checks that the store did not judge.
  void record_into(whatif::RequestRing& ring, const Clock& clock) {
    ring_ = &ring;
    clock_ = &clock;
  }

  void decided(const decide::DecidedCheck& check) override;
  void decided_without_tenant(const Decision& decision, decide::OverloadCause overload) override;
  void key_used(const policy::KeyView& key) noexcept override;
  void waited(const policy::TenantView& tenant, decide::WaitOutcome outcome) override;
  void snapshot_replaced() override;

 private:
  // Counters of one policy, or of a tenant's decisions that are not counted by policy.
  struct Counts {
    telemetry::DecisionCounters* metrics = nullptr;
    UsageCounters* usage = nullptr;
    telemetry::TenantCounters::Row* overload = nullptr;   // looked up at the first overload
    telemetry::TenantCounters::Row* unmatched = nullptr;  // looked up at the first check that no policy matches
  };

  // The reference is valid until the next call.
  Counts& counts_of(const policy::TenantView& tenant, const policy::Rulebook* rulebook);
  static void observe_share(const Decision& decision, Counts& counts);
  void count_overload(Counts& counts, std::string_view tenant, decide::OverloadCause cause);
  void count_unmatched(const decide::DecidedCheck& check, Counts& counts);
  void count_shadows(const decide::DecidedCheck& check);
  void note_quotas(const decide::DecidedCheck& check, const decide::Judgement& judgement);
  void count_usage(const decide::DecidedCheck& check, UsageCounters& counters);
  void log(const decide::DecidedCheck& check);
  void record(const decide::DecidedCheck& check);

  telemetry::Metrics& metrics_;
  telemetry::DecisionLog& log_;
  const bool policy_label_;
  WorkerUsage* const usage_;
  whatif::RequestRing* ring_ = nullptr;
  const Clock* clock_ = nullptr;
  boost::unordered_flat_map<const void*, Counts> counts_;  // key: the address of a tenant or rulebook of the snapshot
  Counts without_tenant_;                                  // for overload and no_snapshot
};

}  // namespace sluice::usage
