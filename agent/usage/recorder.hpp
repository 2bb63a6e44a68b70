// Counts and logs the decisions of one worker: metrics, the decision log, and usage for the server's analytics.
//
// Thread: one worker's. In the steady state it allocates nothing.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>

#include "agent/decide/observer.hpp"
#include "agent/usage/usage.hpp"
#include "common/telemetry/decision_log.hpp"
#include "common/telemetry/metrics.hpp"

namespace sluice::agent::usage {

class Recorder final : public decide::DecisionObserver {
 public:
  // `policy_label`: metrics count decisions by policy too. `usage`: this worker's, nullptr without a server to report
  // to.
  Recorder(telemetry::Metrics& metrics, telemetry::DecisionLog& log, bool policy_label, WorkerUsage* usage)
      : metrics_(metrics), log_(log), policy_label_(policy_label), usage_(usage) {}

  void decided(const decide::DecidedCheck& check) override;
  void decided_unread(const Decision& decision) override;
  void snapshot_replaced() override;

 private:
  // Where decisions of one policy are counted, or those of a tenant without a policy.
  struct Counts {
    telemetry::DecisionCounters* metrics = nullptr;
    UsageCounters* usage = nullptr;  // nullptr without a server
  };

  Counts counts_of(const policy::TenantView& tenant, const policy::Rulebook* rulebook);
  void count_usage(const decide::DecidedCheck& check, UsageCounters& counters);
  void log(const decide::DecidedCheck& check);

  telemetry::Metrics& metrics_;
  telemetry::DecisionLog& log_;
  const bool policy_label_;
  WorkerUsage* const usage_;
  boost::unordered_flat_map<const void*, Counts> counts_;  // by the snapshot's tenants and rulebooks
  telemetry::DecisionCounters* unread_ = nullptr;
};

}  // namespace sluice::agent::usage
