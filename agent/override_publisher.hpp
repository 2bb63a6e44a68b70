// Writes the overrides of a hand-written bundle into the counters' keys, where every decision finds them.
// (With a server only the server publishes them.)
//
// Thread: one worker's.
#pragma once

#include <memory>

#include "common/limiter/counter_store.hpp"
#include "common/policy/snapshot.hpp"
#include "common/telemetry/log.hpp"
#include "common/telemetry/metrics.hpp"

namespace sluice::agent {

class OverridePublisher {
 public:
  OverridePublisher(limiter::CounterStore& store, telemetry::Metrics& metrics, telemetry::Log& log)
      : store_(store), metrics_(metrics), log_(log) {}

  // Writes all of the snapshot's, a few at a time. Called again (after a reconnect, for a new snapshot) it begins anew.
  void publish(std::shared_ptr<const policy::Snapshot> snapshot);

 private:
  class Run;

  limiter::CounterStore& store_;
  telemetry::Metrics& metrics_;
  telemetry::Log& log_;
  std::weak_ptr<Run> current_;
};

}  // namespace sluice::agent
