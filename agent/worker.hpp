// One of N identical workers: an event loop on its own thread with its own listeners, its own connection to Redis and
// its own view of the snapshot. Workers share nothing that is locked but the memory counters.
//
// Thread: everything runs on the worker's loop; the functions marked so may be called from others.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "agent/api/check_api.hpp"
#include "agent/decide/decider.hpp"
#include "agent/policies/override_publisher.hpp"
#include "agent/usage/recorder.hpp"
#include "common/http/tls.hpp"
#include "common/limiter/memory_store.hpp"
#include "common/limiter/redis_store.hpp"
#include "common/redis/client.hpp"
#include "common/telemetry/log.hpp"

namespace sluice::agent {

struct WorkerOptions {
  HeaderFamilies headers;
  std::size_t max_in_flight = 10'000;   // checks of the whole process; above: 503 overload
  bool allow_without_snapshot = false;  // else 503 no_snapshot
  bool policy_label = false;            // count decisions by policy
};

// What workers of one process have in common. Outlives them.
struct WorkerShared {
  const Clock& clock;
  telemetry::Metrics& metrics;
  telemetry::Log& log;
  telemetry::DecisionLog& decision_log;
  std::optional<redis::Options> redis;  // absent: counters in memory
  limiter::MemoryCounters& memory;
  WorkerOptions options;
  http::ServerOptions http;
  usage::Usage* usage = nullptr;             // none where there is no server to report to
  std::function<void()> redis_refused = {};  // Redis did not take the login; called on workers' loops
  decide::InFlight in_flight{options.max_in_flight};
};

class Worker {
 public:
  Worker(std::size_t index, WorkerShared& shared);
  ~Worker();

  // Before run(). `reuse_port`: other workers listen on the same address.
  Result<std::uint16_t> listen_tcp(const std::string& address, bool reuse_port);
  Result<std::uint16_t> listen_tls(const std::string& address, bool reuse_port,
                                   std::shared_ptr<const http::Certificates> certificates);
  Result<> listen_unix(const std::string& path, mode_t mode);

  // What a front end of another protocol is built from; used on the loop only.
  boost::asio::io_context& loop() { return context_; }
  decide::Decider& decider() { return decider_; }

  void run();  // until stop(); the worker's thread is the one that calls it

  // From any thread:
  // Decisions from the next turn of the loop on are by this one; then `taken` is called, on the loop. The one before
  // must be kept by somebody else until it is not used here any more: to free it takes longer than a decision may.
  void set_snapshot(policies::Publication publication, std::function<void()> taken = {});
  void set_head(api::CheckApi::Head head);    // of that snapshot
  void drain(std::function<void()> drained);  // answers what is in flight, then calls back from the loop
  void stop();
  bool redis_ready() const { return redis_ready_.load(std::memory_order_relaxed); }
  bool has_policies() const { return has_policies_.load(std::memory_order_relaxed); }  // it decides by some
  // When the loop last turned, by the steady clock: what liveness is judged by.
  std::chrono::steady_clock::time_point last_turn() const;

 private:
  std::unique_ptr<limiter::CounterStore> make_store();
  redis::Observer observe_redis();
  limiter::RedisStoreObserver observe_store();
  void await_login();
  void on_connected(const redis::ServerInfo& server);
  void publish_overrides();
  void tick();

  const std::size_t index_;
  WorkerShared& shared_;
  boost::asio::io_context context_{1};
  std::unique_ptr<redis::Client> redis_;        // none where counters are in memory
  limiter::RedisStore* redis_store_ = nullptr;  // store_, where it is one
  std::unique_ptr<limiter::CounterStore> store_;
  usage::Recorder recorder_;
  decide::Decider decider_;
  api::CheckApi api_;
  http::Server server_;
  policies::OverridePublisher overrides_;
  boost::asio::steady_timer ticker_;
  policies::Publication in_force_;
  bool awaits_login_ = false;   // to Redis; it was said
  bool has_connected_ = false;  // to Redis
  std::atomic<bool> redis_ready_{false};
  std::atomic<bool> has_policies_{false};
  std::atomic<std::chrono::steady_clock::rep> last_turn_{0};
};

}  // namespace sluice::agent
