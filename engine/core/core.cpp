#include "engine/core/core.hpp"

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>

#include "engine/core/metrics.hpp"
#include "engine/usage/metrics.hpp"

namespace sluice::engine {
Core::Core(CoreOptions options, const Clock& clock, telemetry::Metrics& metrics, telemetry::Log& log,
           telemetry::DecisionLog& decision_log)
    : options_(std::move(options)),
      clock_(clock),
      metrics_(metrics),
      log_(log),
      counters_(clock, options_.counter_shards, options_.memory_limit,
                options_.one_thread ? limiter::MemoryCounters::UsedBy::one_thread
                                    : limiter::MemoryCounters::UsedBy::any_thread),
      shared_{.clock = clock,
              .metrics = metrics,
              .log = log,
              .decision_log = decision_log,
              .memory = counters_,
              .redis = options_.redis,
              .options = options_.lanes,
              .live_agents = [this](std::string_view tenant) { return live_agents_.of(tenant); },
              .why_no_policies = [this] { return why_no_policies(); }} {
  const std::size_t lanes = options_.lanes.lanes;
  if (options_.server) shared_.usage = &usage_.emplace(lanes, usage::UsageBounds{}, now());
  if (options_.record_decisions > 0) shared_.recording = &recording_.emplace(lanes, options_.record_decisions);
  metrics_.add(memory_metrics(), counters_);
  metrics_.add(waiting_metrics(), shared_.waiting);
  metrics_.add(policies::PolicyMetrics::metric_table(), policy_metrics_);
  if (options_.lanes.policy_label) {
    metrics_.add(configured_limits_);
    metrics_.add(limit_windows_);
    metrics_.add(policies::PolicyMetrics::listing_table(), policy_metrics_);
  }
}

bool Core::load() {
  if (options_.server) {
    follow_server();
    return true;
  }
  if (options_.policies_file.empty()) return true;
  const auto publish_to_lanes = [this](const policies::Publication& publication, const std::function<void()>& on_used) {
    publish(publication, on_used);
  };
  bundle_.emplace(options_.policies_file, options_.mode, clock_, metrics_, log_, publish_to_lanes, users());
  return bundle_->load_first();
}

// The engine starts even if the server cannot be reached.
void Core::follow_server() {
  metrics_.add(usage::metrics(), *usage_);
  if (!options_.server->login_file.empty()) shared_.redis_login_rejected = [this] { server_->redis_login_rejected(); };
  policies::ServerOptions options = *options_.server;
  options.sync.tracer = shared_.tracer;
  policies::ServerHooks hooks{.head = options_.on_head,
                              .collect = [this](sync::ReportQueue& queue) { usage_->collect(queue, now()); },
                              .live_agents = [this](const sync::LiveAgents& live) { live_agents_.set(live); },
                              .degraded = [this] { return degraded_counters(); },
                              .recording = recording_ ? &*recording_ : nullptr};
  server_.emplace(
      std::move(options), std::move(hooks), clock_, metrics_, log_,
      [this](const policies::Publication& publication, const std::function<void()>& on_used) {
        publish(publication, on_used);
      },
      users());
  server_->load_first();
}

void Core::start() {
  if (bundle_) bundle_->start();
  if (server_) server_->start();
}

void Core::stop() {
  if (bundle_) bundle_->stop();
  if (server_) server_->stop();
}

void Core::publish(const policies::Publication& publication, const std::function<void()>& on_used) {
  if (publication.snapshot) counters_.set_tenants(publication.snapshot->tenants.size());
  policy_metrics_.set_snapshot(publication.snapshot);
  if (recording_ && publication.snapshot) recording_->note_tenants(*publication.snapshot, clock_.now_us());
  for (Lane* const lane : lanes_) lane->set_snapshot(publication, on_used);
  for (const auto& taker : takers_) taker(publication, on_used);
}

bool Core::had_policies() const { return std::ranges::all_of(lanes_, &Lane::had_policies); }

bool Core::counters_ready() const { return !options_.redis || std::ranges::all_of(lanes_, &Lane::redis_ready); }

std::vector<std::string> Core::degraded_source() const {
  if (server_) return server_->degraded();
  std::vector<std::string> found;
  if (bundle_) {
    if (auto refusal = bundle_->refusal()) found.push_back(std::move(*refusal));
  }
  return found;
}

std::vector<std::string> Core::degraded_counters() const {
  if (counters_ready()) return {};
  return {"Redis is not reachable: failure modes decide"};
}

std::string Core::why_no_policies() const { return server_ ? server_->why_no_policies() : options_.without_source; }

WallTime Core::now() const { return WallTime(std::chrono::microseconds(clock_.now_us())); }

}  // namespace sluice::engine
