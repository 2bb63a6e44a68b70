// One of N identical workers: an event loop on its own thread, a lane of the engine on it, and the front ends that
// answer checks with this lane.
//
// Thread: everything runs on the worker's loop, except the functions marked "from any thread".
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <sys/types.h>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "agent/api/check_api.hpp"
#include "agent/api/refusals.hpp"
#include "agent/grpc/front_end.hpp"
#include "agent/rls/service.hpp"
#include "common/http/tls.hpp"
#include "engine/lane/lane.hpp"

namespace sluice::agent {

struct FrontEndOptions {
  HeaderFamilies headers;
  std::optional<rls::Options> ratelimit = {};  // nullopt: no rate limit service
  bool callers_have_certificates = false;      // nobody connects over TCP without one
  api::AuthzOptions authz = {};
};

// What the workers share. Outlives them.
struct WorkerShared {
  engine::Shared& engine;
  FrontEndOptions options;
  http::ServerOptions http;
  rpc::Metrics* grpc = nullptr;  // nullptr without --grpc
  rls::Counts ratelimit_counts{};
  rls::RuleMetrics* rule_metrics = nullptr;  // nullptr without --ratelimit-metrics
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

  engine::Lane& lane() { return lane_; }

  void run();  // returns after stop()

  // From any thread:

  void set_head(api::CheckApi::Head head);
  void set_authz_key(std::string key);
  // REQUIRES: WorkerOptions::ratelimit.
  void set_rate_limits(rls::InForce in_force);
  // Answers the requests in flight, and checks that are held at once, then calls back on the loop.
  void drain(std::function<void()> drained);
  void stop();
  // When the loop last ran its 250 ms timer.
  std::chrono::steady_clock::time_point last_turn() const;

 private:
  void serve_rate_limits();
  void serve_grpc();
  void drain_now(std::function<void()> drained);
  void tell_health();
  void start();
  void mend();
  void tick();

  const std::size_t index_;
  WorkerShared& shared_;
  // Without locks around sockets and timers: only the worker's thread uses them.
  boost::asio::io_context context_{BOOST_ASIO_CONCURRENCY_HINT_UNSAFE_IO};
  engine::Lane lane_;
  std::optional<rls::Service> rate_limits_;  // nullopt: no rate limit service
  api::CheckApi api_;
  http::Server server_;
  std::optional<rpc::FrontEnd> grpc_;  // only with --grpc
  api::RefusalLog refusal_log_;        // the first worker's speaks for all
  boost::asio::steady_timer ticker_;
  bool ticking_ = false;  // ticker_ runs
  bool started_ = false;
  std::chrono::steady_clock::time_point mended_at_;
  std::atomic<std::chrono::steady_clock::rep> last_turn_{0};
};

}  // namespace sluice::agent
