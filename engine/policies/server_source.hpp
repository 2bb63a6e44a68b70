// Follows the policies of a server with a SyncClient: compiles each new state, puts it in force and saves it on the
// disk. If a state is refused, the former policies stay in force.
//
// Thread: the constructor, load_first(), start() and stop() run on the owner's thread. degraded() and
// redis_login_rejected() may be called on any thread. Everything else runs on a thread of its own.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "common/base/clock.hpp"
#include "common/sync/bundle_of.hpp"
#include "common/telemetry/metrics.hpp"
#include "common/telemetry/outage_log.hpp"
#include "common/tracing/tracer.hpp"
#include "engine/follow/deadline_timer.hpp"
#include "engine/follow/sync_client.hpp"
#include "engine/policies/counters_login.hpp"
#include "engine/policies/question_judge.hpp"
#include "engine/policies/snapshot_swap.hpp"
#include "engine/policies/state_saver.hpp"
#include "engine/policies/token_file.hpp"

namespace sluice::policies {

struct ServerOptions {
  follow::SyncOptions sync;
  std::string token_file;
  std::string cache;                     // path for the last good state, or "" to save nothing
  std::chrono::milliseconds max_age{0};  // how long policies stay in force after the last confirmation; 0: unlimited
  std::string login_file = {};           // path for the login to Redis that the server hands out, or ""
  // The span below which the agent starts, as the injector names it (W3C Trace Context), or "". The tracer is in
  // `sync`.
  std::string traceparent = {};
  std::string tracestate = {};
};

// Functions that are called on the source's thread. Each may be empty.
struct ServerHooks {
  // Called when the server has confirmed that the policies in force are its newest.
  std::function<void(const sync::Position& head, std::int64_t confirmed_us)> head = {};
  std::function<void(sync::ReportQueue& queue)> collect = {};  // adds the usage since the last call
  std::function<void(const sync::LiveAgents& live)> live_agents = {};
  // Returns one sentence for each problem of the agent's other parts.
  std::function<std::vector<std::string>()> degraded = {};
  // What questions of what-if are answered from; nullptr: nothing is recorded. Outlives the source.
  const whatif::Recording* recording = nullptr;
};

class ServerSource final : private follow::SyncHost {
 public:
  ServerSource(ServerOptions options, ServerHooks hooks, const Clock& clock, telemetry::Metrics& metrics,
               telemetry::Log& log, SnapshotSwap::Publish publish, std::size_t workers);
  ~ServerSource() { stop(); }  // NOLINT(bugprone-exception-escape): without memory for its end it cannot go on

  // Publishes the last good state, if there is one.
  void load_first();

  void start();
  void stop();  // sends the last report, then joins the thread

  std::vector<std::string> degraded() const;
  // Why there are no policies. REQUIRES: there are none.
  std::string why_no_policies() const;

  // Fetches the login again.
  void redis_login_rejected();

  static const telemetry::MetricTable<ServerSource>& metric_table();

 private:
  using Time = std::chrono::steady_clock::time_point;

  void on_state(const sync::Applied& applied, bool full) override;
  Result<std::string> token() override { return token_.read(); }
  void on_confirmed(const sync::Position& position) override;
  void on_live_agents(const sync::LiveAgents& live) override;
  void on_question(const sync::WhatIfQuestion& question) override;
  std::vector<std::string> other_degraded() const override;
  std::vector<std::string> own_degraded() const;
  std::string counters_generation() const override { return login_ ? login_->generation() : std::string(); }
  void collect(sync::ReportQueue& queue) override;

  follow::SyncObserver observe();
  void follow();
  void note_newer(const sync::NewerFields& newer);
  void refuse(const Faults& faults, std::int64_t revision);
  void end_start(const sync::Position& position);
  void watch_age();
  void refresh();

  const ServerOptions options_;
  const ServerHooks hooks_;
  const Clock& clock_;
  telemetry::Metrics& metrics_;
  telemetry::Log& log_;
  tracing::ActiveSpan start_;  // until the server has confirmed the first policies in force

  boost::asio::io_context context_{1};
  SnapshotSwap swap_;
  TokenFile token_;
  std::optional<StateSaver> saver_;
  std::optional<CountersLogin> login_;
  follow::DeadlineTimer age_timer_;
  follow::DeadlineTimer refresh_timer_;
  follow::SyncClient client_;
  std::optional<QuestionJudge> judge_;            // only if checks are recorded
  std::optional<StateSaver::LoadedState> saved_;  // the last good state, from load_first() to follow()
  // The time at which the server confirmed the last good state. "" if there is no such state, and after the first
  // confirmation in this run.
  std::string saved_confirmed_;
  Time confirmed_at_;            // valid while a snapshot is in force
  std::set<std::string> newer_;  // objects in force with fields that this release does not know
  telemetry::OutageLog outage_;  // of the server

  mutable std::mutex mutex_;  // guards the members below, which refresh() copies for other threads
  std::vector<std::string> degraded_;
  std::string why_no_policies_;
  follow::SyncCounters counters_;
  bool connected_ = false;
  std::optional<Time> shown_confirmed_at_;     // copy of confirmed_at_; nullopt before the first snapshot
  std::optional<std::size_t> snapshot_bytes_;  // of the client's state
  std::jthread thread_;
};

}  // namespace sluice::policies
