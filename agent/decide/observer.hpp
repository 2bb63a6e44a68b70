// Hears of every decision: whoever counts, logs and reports it implements this (agent/usage).
//
// Thread: one worker's.
#pragma once

#include <chrono>
#include <span>
#include <string_view>

#include "agent/decide/decision.hpp"

namespace sluice::agent::decide {

// A decision on behalf of a tenant. Everything is valid during the call only.
struct DecidedCheck {
  const Decision& decision;
  const policy::TenantView& tenant;
  const CheckRequest& request;
  const policy::Rulebook* rulebook;       // the one the decision names; nullptr for no_policy
  std::span<const Judgement> judgements;  // empty where nothing was judged
  std::string_view traceparent;
  std::chrono::nanoseconds took;
};

class DecisionObserver {
 public:
  virtual void decided(const DecidedCheck& check) = 0;
  // overload and no_snapshot: decided before anybody looked at whose check it is.
  virtual void decided_unread(const Decision& decision) = 0;
  // Another snapshot is in force: tenants and rulebooks of the former one may go.
  virtual void snapshot_replaced() = 0;

 protected:
  ~DecisionObserver() = default;
};

}  // namespace sluice::agent::decide
