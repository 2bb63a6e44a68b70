// One of N identical workers: an event loop on its own thread, with its own listeners, its own connection to Redis and
// its own pointer to the snapshot.
//
// Thread: everything runs on the worker's loop, except the functions marked "from any thread".
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "agent/api/check_api.hpp"
#include "agent/api/refusals.hpp"
#include "agent/grpc/front_end.hpp"
#include "agent/rls/service.hpp"
#include "common/http/tls.hpp"
#include "common/limiter/memory_store.hpp"
#include "common/limiter/redis_store.hpp"
#include "common/redis/client.hpp"
#include "common/telemetry/log.hpp"
#include "common/telemetry/outage_log.hpp"
#include "engine/decide/decider.hpp"
#include "engine/decide/local_limits.hpp"
#include "engine/policies/override_publisher.hpp"
#include "engine/usage/recorder.hpp"
#include "engine/whatif/recording.hpp"

namespace sluice::agent {

struct WorkerOptions {
  HeaderFamilies headers;
  std::size_t max_in_flight = 10'000;          // in the whole process
  std::size_t max_waiting = 1'000;             // in the whole process
  std::chrono::milliseconds max_wait{30'000};  // how long a check is held at most
  std::chrono::milliseconds matching_budget{200};
  std::chrono::milliseconds redis_budget{500};
  std::size_t workers = 1;
  bool allow_without_snapshot = false;
  bool policy_label = false;                   // add a policy label to decision metrics
  std::optional<rls::Options> ratelimit = {};  // nullopt: no rate limit service
  bool callers_have_certificates = false;      // nobody connects over TCP without one
  api::AuthzOptions authz = {};
};

// Outlives the workers.
struct WorkerShared {
  const Clock& clock;
  telemetry::Metrics& metrics;
  telemetry::Log& log;
  telemetry::DecisionLog& decision_log;
  std::optional<redis::Options> redis;  // nullopt: counters in memory
  limiter::MemoryCounters& memory;
  WorkerOptions options;
  http::ServerOptions http;
  decide::LocalLimits::LiveAgents live_agents;
  usage::Usage* usage = nullptr;                      // nullptr without --server
  whatif::Recording* recording = nullptr;             // nullptr without --record-decisions
  tracing::Tracer* tracer = nullptr;                  // nullptr: nothing is traced
  rpc::Metrics* grpc = nullptr;                       // nullptr without --grpc
  std::function<void()> redis_login_rejected = {};    // called on a worker's loop
  std::function<std::string()> why_no_policies = {};  // called on a worker's loop
  // Each worker is a party of it.
  telemetry::OutageLog redis_outage{log,
                                    {"redis_still_away", "Redis still cannot be used; failure modes decide meanwhile.",
                                     "redis_back", "Redis decides again."}};
  decide::InFlight in_flight{options.max_in_flight};
  rls::Counts ratelimit_counts{};
  rls::RuleMetrics* rule_metrics = nullptr;  // nullptr without --ratelimit-metrics
  decide::WaitingPlaces waiting{options.max_waiting};
};

class Worker {
 public:
  Worker(std::size_t index, WorkerShared& shared);
  ~Worker();

  // `reuse_port`: other workers listen on the same address. REQUIRES: called before run().
  Result<std::uint16_t> listen_tcp(const std::string& address, bool reuse_port);
  Result<std::uint16_t> listen_tls(const std::string& address, bool reuse_port,
                                   std::shared_ptr<const http::Certificates> certificates,
                                   std::shared_ptr<const http::ClientAuthorities> clients);
  Result<> listen_unix(const std::string& path, mode_t mode);

  // The same for gRPC. Without certificates, the listener has no TLS. REQUIRES: WorkerShared::grpc is not nullptr.
  Result<std::uint16_t> listen_grpc(const std::string& address, bool reuse_port,
                                    std::shared_ptr<const http::Certificates> certificates,
                                    std::shared_ptr<const http::ClientAuthorities> clients);
  Result<> listen_grpc_unix(const std::string& path, mode_t mode);

  void run();  // returns after stop()

  // From any thread:

  // Replaces, on the loop, the snapshot in force by `publication`, then calls `on_used`. The caller keeps the former
  // snapshot until no worker refers to it, because a worker that freed a snapshot would delay decisions.
  void set_snapshot(policies::Publication publication, std::function<void()> on_used = {});
  void set_head(api::CheckApi::Head head);
  void set_authz_key(std::string key);
  // REQUIRES: WorkerOptions::ratelimit.
  void set_rate_limits(rls::InForce in_force);
  // Answers the requests in flight, and checks that are held at once, then calls back on the loop.
  void drain(std::function<void()> drained);
  void stop();
  bool redis_ready() const { return redis_ready_.load(std::memory_order_relaxed); }
  bool had_policies() const { return had_policies_.load(std::memory_order_relaxed); }  // in force now or before
  // When the loop last ran its 250 ms timer.
  std::chrono::steady_clock::time_point last_turn() const;

 private:
  std::unique_ptr<limiter::CounterStore> make_store();
  void serve_rate_limits();
  redis::Observer observe_redis();
  limiter::RedisStoreObserver observe_store();
  void await_login();
  void on_connected(const redis::ServerInfo& server);
  void note_redis_ready();
  void on_breaker_changed(const std::string& endpoint, redis::Breaker::State state);
  void publish_overrides();
  void drain_now(std::function<void()> drained);
  void tell_health();
  void wake_waiting_at(decide::WaitingRoom::Time at);
  void tick();

  const std::size_t index_;
  WorkerShared& shared_;
  boost::asio::io_context context_{1};
  std::unique_ptr<redis::Client> redis_;  // nullptr if counters are in memory
  std::unique_ptr<limiter::CounterStore> store_;
  std::optional<decide::LocalLimits> local_limits_;  // nullopt if counters are in memory
  usage::Recorder recorder_;
  boost::asio::steady_timer waiting_timer_;
  decide::WaitingRoom waiting_room_;
  const decide::TracedStore traced_store_;
  decide::Decider decider_;
  std::optional<rls::Service> rate_limits_;  // nullopt: no rate limit service
  api::CheckApi api_;
  http::Server server_;
  std::optional<rpc::FrontEnd> grpc_;  // only with --grpc
  api::RefusalLog refusal_log_;        // the first worker's speaks for all
  policies::OverridePublisher overrides_;
  boost::asio::steady_timer ticker_;
  policies::Publication in_force_;
  bool awaits_login_ = false;            // the log already says that the agent waits for the login to Redis
  std::set<std::string> open_breakers_;  // endpoints of Redis whose circuit breaker is not closed
  std::string redis_address_;            // of the last connection; "" before the first one
  std::atomic<bool> redis_ready_{false};
  std::atomic<bool> had_policies_{false};
  std::atomic<std::chrono::steady_clock::rep> last_turn_{0};
};

}  // namespace sluice::agent
