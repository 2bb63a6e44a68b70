// Who receives the decisions of a checker: nobody, or what counts them for Engine::metrics().
#pragma once

#include <cstddef>
#include <string>

#include "common/base/clock.hpp"
#include "common/limiter/memory_store.hpp"
#include "common/telemetry/decision_log.hpp"
#include "common/telemetry/metrics.hpp"
#include "engine/decide/observer.hpp"

namespace sluice::lib {

class NoObserver final : public decide::DecisionObserver {
 public:
  void decided(const decide::DecidedCheck&) override {}
  void decided_without_tenant(const Decision&, decide::OverloadCause) override {}
  void key_used(const policy::KeyView&) noexcept override {}
  void waited(const policy::TenantView&, decide::WaitOutcome) override {}
  bool wants_time() const override { return false; }
  void snapshot_replaced() override {}
};

// What the recorders of an engine count into. Any thread.
class Counting {
 public:
  // `lanes`: that use Redis; 0: counters are in memory. All outlive this object.
  Counting(const Clock& clock, const limiter::MemoryCounters& counters, std::size_t lanes);

  telemetry::Metrics& metrics() { return metrics_; }
  telemetry::DecisionLog& log() { return log_; }
  std::string render() const { return metrics_.render(); }

 private:
  telemetry::Metrics metrics_;
  telemetry::DecisionLog log_;  // logs nothing
};

}  // namespace sluice::lib
