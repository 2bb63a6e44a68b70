// The interface that receives every decision, so that it is counted, logged and reported.
//
// Thread: one worker's.
#pragma once

#include <chrono>
#include <span>
#include <string_view>

#include "common/tracing/span.hpp"
#include "engine/decide/decision.hpp"
#include "engine/decide/overload_cause.hpp"
#include "engine/decide/wait_outcome.hpp"

namespace sluice::decide {

// The references are valid only until DecisionObserver::decided() returns.
struct DecidedCheck {
  const Decision& decision;
  const policy::TenantView& tenant;
  const CheckRequest& request;
  const policy::Rulebook* rulebook;       // nullptr if the decision names no policy or plan
  std::span<const Judgement> judgements;  // empty if the decision needed no counters
  std::string_view traceparent;
  tracing::Span* span;            // of the check; nullptr if the check is not traced
  std::chrono::nanoseconds took;  // since the last question to the store, if the check was held; 0 if nobody wants it
  bool held;                      // the check has waited in the WaitingRoom
  OverloadCause overload;         // if the decision's reason is overload
};

class DecisionObserver {
 public:
  virtual void decided(const DecidedCheck& check) = 0;
  // The decision's reason is overload, for `overload`, or no_snapshot.
  virtual void decided_without_tenant(const Decision& decision, OverloadCause overload) = 0;
  // A caller has shown this valid key. Not called for callers that the agent knows by other means.
  virtual void key_used(const policy::KeyView& key) noexcept = 0;
  // The wait of a held check has ended, or a check was not held because too many wait.
  virtual void waited(const policy::TenantView& tenant, WaitOutcome outcome) = 0;
  // Whether it reads DecidedCheck::took. Always the same answer.
  virtual bool wants_time() const { return true; }
  // The observer must forget its pointers to tenants and rulebooks.
  virtual void snapshot_replaced() = 0;

 protected:
  ~DecisionObserver() = default;
};

}  // namespace sluice::decide
