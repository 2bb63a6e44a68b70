// One engine: what its lanes share, and the source that brings their policies. A program can have several.
//
// Its owner makes the lanes, each on an io_context of its own, and calls, in this order: the constructor, add() for
// each lane, load(), start(), stop(). stop() comes before the lanes end. A program whose lanes are others than
// engine/lane has adds a function that takes policies instead.
//
// Thread: the owner's, except the functions marked "from any thread". A source of policies starts a thread in start().
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/base/clock.hpp"
#include "common/domain/plan.hpp"
#include "common/limiter/memory_store.hpp"
#include "common/redis/client.hpp"
#include "common/telemetry/decision_log.hpp"
#include "common/telemetry/log.hpp"
#include "common/telemetry/metrics.hpp"
#include "engine/lane/lane.hpp"
#include "engine/lane/shared.hpp"
#include "engine/policies/bundle_source.hpp"
#include "engine/policies/live_agents.hpp"
#include "engine/policies/policy_metrics.hpp"
#include "engine/policies/server_source.hpp"
#include "engine/policies/snapshot_swap.hpp"
#include "engine/usage/usage.hpp"
#include "engine/whatif/recording.hpp"

namespace sluice::engine {

struct CoreOptions {
  // At most one of these two. With neither, publish() brings the policies.
  std::string policies_file = {};                      // path of a bundle; "": none
  std::optional<policies::ServerOptions> server = {};  // its tracer is set by load()
  Mode mode = Mode::enforce;                           // the strictest mode of the policies in `policies_file`
  std::optional<redis::Options> redis = {};            // nullopt: counters in memory
  std::size_t memory_limit = 0;                        // bytes that counters in memory may take; 0: there can be none
  std::size_t counter_shards = 64;                     // of the counters in memory
  bool one_thread = false;                             // one thread at a time uses them, so they take no lock
  std::size_t record_decisions = 0;                    // bytes of recorded checks, of all lanes; 0: none are recorded
  LaneOptions lanes = {};
  std::string without_source = {};  // why there are no policies, if there is no source; a sentence
  // The server has confirmed that the policies in force are its newest. Called on the source's thread; may be absent.
  std::function<void(const sync::Position& head, std::int64_t confirmed_us)> on_head = {};
};

class Core {
 public:
  // All references outlive the engine. Adds its metrics to `metrics`.
  Core(CoreOptions options, const Clock& clock, telemetry::Metrics& metrics, telemetry::Log& log,
       telemetry::DecisionLog& decision_log);

  // For the lanes. REQUIRES for a change: there are no lanes yet.
  Shared& shared() { return shared_; }
  limiter::MemoryCounters& counters() { return counters_; }

  void add(Lane& lane) { lanes_.push_back(&lane); }
  // Called with all policies after the lanes, on the thread that publishes. It calls `on_used` once, on any thread.
  void add(policies::SnapshotSwap::Publish taker) { takers_.push_back(std::move(taker)); }
  // Puts the first policies in force: the file's, or the last good state of the server. Returns false if the file is
  // refused; the log has its faults. Without a source it does nothing.
  bool load();
  void start();  // follows the source from now on
  void stop();

  bool has_source() const { return bundle_ || server_; }

  // From any thread, after load():

  // Hands policies to all lanes and takers. Each calls `on_used` once. REQUIRES: there is no source, or it is the
  // source that calls. The caller keeps the former snapshot until no lane refers to it.
  void publish(const policies::Publication& publication, const std::function<void()>& on_used = {});
  // Each lane has policies, or had some before.
  bool had_policies() const;
  // Whether all lanes can use the counters.
  bool counters_ready() const;
  // A sentence for each problem.
  std::vector<std::string> degraded_source() const;
  std::vector<std::string> degraded_counters() const;

 private:
  void follow_server();
  std::size_t users() const { return lanes_.size() + takers_.size(); }  // of policies
  std::string why_no_policies() const;
  WallTime now() const;

  const CoreOptions options_;
  const Clock& clock_;
  telemetry::Metrics& metrics_;
  telemetry::Log& log_;
  limiter::MemoryCounters counters_;
  Shared shared_;
  std::optional<usage::Usage> usage_;           // only with a server
  std::optional<whatif::Recording> recording_;  // only with CoreOptions::record_decisions
  policies::LiveAgents live_agents_;
  policies::PolicyMetrics policy_metrics_;
  const policies::ConfiguredLimits configured_limits_{policy_metrics_};
  const policies::LimitWindows limit_windows_{policy_metrics_, clock_};
  std::optional<policies::BundleSource> bundle_;
  std::optional<policies::ServerSource> server_;
  std::vector<Lane*> lanes_;
  std::vector<policies::SnapshotSwap::Publish> takers_;
};

}  // namespace sluice::engine
