#include "agent/worker.hpp"

#include <new>
#include <thread>
#include <utility>

#include <boost/asio/post.hpp>

namespace sluice::agent {
namespace {

constexpr std::chrono::milliseconds kTick{250};
constexpr std::chrono::milliseconds kBetweenMendings{1};
// gRPC clients keep connections that they do not use, and open a new one in a call's time.
constexpr std::chrono::minutes kGrpcIdle{5};

}  // namespace

Worker::Worker(std::size_t index, WorkerShared& shared)
    : index_(index),
      shared_(shared),
      lane_(index, context_, shared.engine,
            [this] {
              api_.set_head(std::nullopt);
              tell_health();
            }),
      api_(shared.options.headers, lane_.decider(), shared.engine.metrics.http, shared.engine.metrics.refusals,
           shared.options.authz, shared.engine.tracer),
      server_(context_, shared.http, api_),
      refusal_log_(shared.engine.metrics.refusals, shared.engine.log),
      ticker_(context_) {
  if (shared.options.ratelimit) serve_rate_limits();
  if (shared.grpc != nullptr) serve_grpc();
  tick();
}

// Waiting calls of Redis must fail while the objects that their callbacks use still exist.
Worker::~Worker() { lane_.close(); }

void Worker::serve_rate_limits() {
  decide::Decider& decider = lane_.decider();
  const auto agents = [this, &decider] {
    decide::LocalLimits* const local_limits = decider.local_limits();
    return local_limits != nullptr ? local_limits->agents_of(shared_.options.ratelimit->tenant) : 1;
  };
  const auto is_only_tenant = [this, &decider] {
    const policy::Snapshot* const snapshot = decider.snapshot();
    return snapshot == nullptr || snapshot->tenants.empty() ||
           (snapshot->tenants.size() == 1 && snapshot->tenants.contains(shared_.options.ratelimit->tenant));
  };
  rate_limits_.emplace(*shared_.options.ratelimit, rls::Resources{.store = decider.store(),
                                                                  .in_flight = shared_.engine.in_flight,
                                                                  .redis_time = decider.redis_time(),
                                                                  .agents = agents,
                                                                  .is_only_tenant = is_only_tenant,
                                                                  .counts = shared_.ratelimit_counts,
                                                                  .rule_metrics = shared_.rule_metrics,
                                                                  .traced_store = lane_.traced_store()});
  api_.serve_rate_limits(*rate_limits_, shared_.options.callers_have_certificates);
}

void Worker::serve_grpc() {
  http::ServerOptions options = shared_.http;
  options.idle_timeout = kGrpcIdle;
  grpc_.emplace(context_, options,
                rpc::ServiceParts{.decider = lane_.decider(),
                                  .refusals = shared_.engine.metrics.refusals,
                                  .rate_limits = rate_limits_ ? &*rate_limits_ : nullptr,
                                  .callers_have_certificates = shared_.options.callers_have_certificates,
                                  .headers = shared_.options.headers,
                                  .authz = &shared_.options.authz,
                                  .authz_key = &api_.authz_key()},
                *shared_.grpc, shared_.grpc->workers.at(index_), shared_.engine.tracer);
}

Result<std::uint16_t> Worker::listen_tcp(const std::string& address, bool reuse_port) {
  return server_.listen_tcp(address, reuse_port);
}

Result<std::uint16_t> Worker::listen_tls(const std::string& address, bool reuse_port,
                                         std::shared_ptr<const http::Certificates> certificates,
                                         std::shared_ptr<const http::ClientAuthorities> clients) {
  return server_.listen_tls(address, reuse_port, std::move(certificates), std::move(clients));
}

Result<> Worker::listen_unix(const std::string& path, mode_t mode) { return server_.listen_unix(path, mode); }

Result<std::uint16_t> Worker::listen_grpc(const std::string& address, bool reuse_port,
                                          std::shared_ptr<const http::Certificates> certificates,
                                          std::shared_ptr<const http::ClientAuthorities> clients) {
  return grpc_->listener().listen_tcp(address, reuse_port, std::move(certificates), std::move(clients));
}

Result<> Worker::listen_grpc_unix(const std::string& path, mode_t mode) {
  return grpc_->listener().listen_unix(path, mode);
}

// Connections and listeners bear an allocation that fails. Where one fails elsewhere, it ends one event, and what this
// event would have begun.
void Worker::run() {
  bool broken = false;
  do {
    try {
      if (std::exchange(broken, false)) {
        mend();
      } else if (!started_) {
        start();
      }
      context_.run();
    } catch (const std::bad_alloc&) {
      broken = true;
    }
  } while (broken && !context_.stopped());
}

void Worker::start() {
  started_ = true;
  lane_.start();
}

// The lane may have lost a timer, a read or a write, so its connection to Redis is opened anew. While there is no
// memory, the thread must not do nothing else than this.
void Worker::mend() {
  std::this_thread::sleep_until(mended_at_ + kBetweenMendings);
  mended_at_ = std::chrono::steady_clock::now();
  if (!ticking_) tick();
  lane_.stop();
  lane_.start();
}

void Worker::set_head(api::CheckApi::Head head) {
  boost::asio::post(context_, [this, head = std::move(head)]() mutable { api_.set_head(std::move(head)); });
}

void Worker::set_authz_key(std::string key) {
  boost::asio::post(context_, [this, key = std::move(key)]() mutable { api_.set_authz_key(std::move(key)); });
}

void Worker::set_rate_limits(rls::InForce in_force) {
  boost::asio::post(context_, [this, in_force = std::move(in_force)]() mutable {
    rate_limits_->set_config(std::move(in_force));
    tell_health();
  });
}

void Worker::drain(std::function<void()> drained) {
  boost::asio::post(context_, [this, drained = std::move(drained)] {
    drain_now(drained);
    lane_.decider().waiting_room().close();
  });
}

void Worker::drain_now(std::function<void()> drained) {
  if (!grpc_) return server_.drain(std::move(drained));
  const auto one_of_two = [left = std::make_shared<int>(2), drained = std::move(drained)] {
    if (--*left == 0) drained();
  };
  server_.drain(one_of_two);
  grpc_->drain(one_of_two);
}

// As /readyz: an agent that would answer every check with no_snapshot does not serve, unless it has other work.
void Worker::tell_health() {
  if (!grpc_) return;
  const bool limits_alone =
      rate_limits_ && rate_limits_->options().stands_alone && rate_limits_->in_force().config != nullptr;
  grpc_->set_serving(limits_alone || shared_.engine.options.allow_without_snapshot || lane_.had_policies());
}

void Worker::stop() {
  boost::asio::post(context_, [this] {
    server_.close_all();
    if (grpc_) grpc_->close_all();
    context_.stop();
  });
}

std::chrono::steady_clock::time_point Worker::last_turn() const {
  return std::chrono::steady_clock::time_point(
      std::chrono::steady_clock::duration(last_turn_.load(std::memory_order_relaxed)));
}

// Shows /livez that the loop still runs, and copies statistics into the metrics.
void Worker::tick() {
  ticking_ = false;
  ticker_.expires_after(kTick);
  ticker_.async_wait([this](const boost::system::error_code& stopped) {
    if (!stopped) tick();
  });
  ticking_ = true;  // only now: the wait may have found no memory
  last_turn_.store(std::chrono::steady_clock::now().time_since_epoch().count(), std::memory_order_relaxed);
  const http::ServerStats& stats = server_.stats();
  telemetry::WorkerMetrics& metrics = shared_.engine.metrics.workers.at(index_);
  telemetry::set(metrics.http_connections, stats.open_connections);
  telemetry::set(metrics.http_connections_accepted, stats.accepted);
  telemetry::set(metrics.http_connections_refused, stats.refused_connections);
  telemetry::set(metrics.http_accept_errors, stats.accept_errors);
  telemetry::set(metrics.http_bad_requests, stats.bad_requests);
  telemetry::set(metrics.tls_failures, stats.tls_failures);
  telemetry::set(metrics.http_waiting_output, stats.waiting_output);
  telemetry::set(metrics.http_slow_readers, stats.slow_readers);
  if (grpc_) grpc_->copy_statistics();
  try {
    server_.mend();
    if (grpc_) {
      grpc_->listener().mend();
      tell_health();
    }
    lane_.tick();
    if (index_ == 0) refusal_log_.tick(std::chrono::steady_clock::now());
  } catch (const std::bad_alloc&) {  // the next tick does it
  }
}

}  // namespace sluice::agent
