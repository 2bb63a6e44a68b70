// The interface that receives every decision. agent/usage implements it to count, log and report decisions.
//
// Thread: one worker's.
#pragma once

#include <chrono>
#include <span>
#include <string_view>

#include "agent/decide/decision.hpp"

namespace sluice::agent::decide {

// A decision for a tenant. The references are valid only until DecisionObserver::decided() returns.
struct DecidedCheck {
  const Decision& decision;
  const policy::TenantView& tenant;
  const CheckRequest& request;
  const policy::Rulebook* rulebook;       // of the policy or plan that the decision names; nullptr if it names none
  std::span<const Judgement> judgements;  // empty if the decision needed no counters
  std::string_view traceparent;
  std::chrono::nanoseconds took;
};

class DecisionObserver {
 public:
  virtual void decided(const DecidedCheck& check) = 0;
  // A decision with reason overload or no_snapshot, made before the agent knows the tenant.
  virtual void decided_without_tenant(const Decision& decision) = 0;
  // Another snapshot comes into force. The observer must forget pointers to tenants and rulebooks of the former one.
  virtual void snapshot_replaced() = 0;

 protected:
  ~DecisionObserver() = default;
};

}  // namespace sluice::agent::decide
