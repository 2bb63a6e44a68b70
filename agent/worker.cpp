#include "agent/worker.hpp"

#include <array>
#include <new>
#include <utility>

#include <boost/asio/post.hpp>

namespace sluice::agent {
namespace {

constexpr std::chrono::milliseconds kTick{250};
// gRPC clients keep connections that they do not use, and open a new one in a call's time.
constexpr std::chrono::minutes kGrpcIdle{5};

// `code`: the code of an error from redis::Observer::connect_failed or rotation_failed.
limiter::StoreFault connect_fault(std::string_view code) {
  using limiter::StoreFault;
  if (code == "authentication" || code == "permission" || code == "credentials" || code == "no_login" ||
      code == "sentinel_login") {
    return StoreFault::authentication;
  }
  if (code == "loading") return StoreFault::loading;
  if (code == "busy") return StoreFault::busy;
  if (code == "masterdown" || code == "replica") return StoreFault::read_only;
  if (code == "timeout") return StoreFault::timeout;
  if (code == "database" || code == "unknown_primary" || code == "cluster" || code == "no_cluster") {
    return StoreFault::misconfigured;
  }
  if (code == "no_slots") return StoreFault::cluster_down;
  if (code == "protocol" || code == "too_old" || code == "no_scripts") return StoreFault::protocol;
  return StoreFault::disconnected;  // refused, unreachable, resolve, tls, denied, disconnected
}

// Of Sentinel and of a Cluster it is not known here which server answers.
decide::TracedStore traced_store(const std::optional<redis::Options>& redis) {
  // A login that the server hands out calls functions.
  decide::TracedStore store{.operation = redis && !redis->login_file.empty() ? "FCALL" : "EVALSHA"};
  if (!redis || !redis->target.sentinels.empty() || !redis->target.cluster.empty()) return store;
  const bool is_socket = redis->target.transport == redis::Target::Transport::unix_socket;
  store.host = is_socket ? redis->target.path : redis->target.host;
  store.port = is_socket ? std::uint16_t{0} : redis->target.port;
  return store;
}

}  // namespace

Worker::Worker(std::size_t index, WorkerShared& shared)
    : index_(index),
      shared_(shared),
      store_(make_store()),
      local_limits_(shared.redis ? std::make_optional<decide::LocalLimits>(shared.memory, shared.live_agents)
                                 : std::nullopt),
      recorder_(shared.metrics, shared.decision_log, shared.options.policy_label,
                shared.usage ? &shared.usage->worker(index) : nullptr),
      waiting_timer_(context_),
      waiting_room_(shared.waiting, shared.options.max_wait,
                    [this](decide::WaitingRoom::Time at) { wake_waiting_at(at); }),
      traced_store_(traced_store(shared.redis)),
      decider_(*store_, local_limits_ ? &*local_limits_ : nullptr, shared.clock, shared.in_flight, waiting_room_,
               recorder_, {.allow = shared.options.allow_without_snapshot, .cause = shared.why_no_policies},
               decide::MatchingBudget(shared.options.matching_budget),
               decide::RedisTime(shared.options.redis_budget, shared.options.workers)),
      api_(shared.options.headers, decider_, shared.metrics.http, shared.metrics.refusals, shared.options.authz,
           shared.tracer),
      server_(context_, shared.http, api_),
      refusal_log_(shared.metrics.refusals, shared.log),
      overrides_(context_, *store_, shared.metrics, shared.log, [this] { publish_overrides(); }),
      ticker_(context_) {
  if (shared.tracer != nullptr) decider_.trace(*shared.tracer, redis_ ? &traced_store_ : nullptr);
  if (shared.recording != nullptr) recorder_.record_into(shared.recording->worker(index), shared.clock);
  if (shared.options.ratelimit) serve_rate_limits();
  if (shared.grpc != nullptr) {
    http::ServerOptions options = shared.http;
    options.idle_timeout = kGrpcIdle;
    grpc_.emplace(context_, options,
                  rpc::ServiceParts{.decider = decider_,
                                    .refusals = shared.metrics.refusals,
                                    .rate_limits = rate_limits_ ? &*rate_limits_ : nullptr,
                                    .callers_have_certificates = shared.options.callers_have_certificates,
                                    .headers = shared.options.headers,
                                    .authz = &shared.options.authz,
                                    .authz_key = &api_.authz_key()},
                  *shared.grpc, shared.grpc->workers.at(index), shared.tracer);
  }
  tick();
}

void Worker::serve_rate_limits() {
  const auto agents = [this] {
    return local_limits_ ? local_limits_->agents_of(shared_.options.ratelimit->tenant) : 1;
  };
  const auto is_only_tenant = [this] {
    const policy::Snapshot* const snapshot = decider_.snapshot();
    return snapshot == nullptr || snapshot->tenants.empty() ||
           (snapshot->tenants.size() == 1 && snapshot->tenants.contains(shared_.options.ratelimit->tenant));
  };
  rate_limits_.emplace(*shared_.options.ratelimit, rls::Resources{.store = *store_,
                                                                  .in_flight = shared_.in_flight,
                                                                  .redis_time = decider_.redis_time(),
                                                                  .agents = agents,
                                                                  .is_only_tenant = is_only_tenant,
                                                                  .counts = shared_.ratelimit_counts,
                                                                  .rule_metrics = shared_.rule_metrics,
                                                                  .traced_store = redis_ ? &traced_store_ : nullptr});
  api_.serve_rate_limits(*rate_limits_, shared_.options.callers_have_certificates);
}

// Waiting calls of the Redis client must fail while the objects that their callbacks use still exist.
Worker::~Worker() { redis_.reset(); }

std::unique_ptr<limiter::CounterStore> Worker::make_store() {
  if (!shared_.redis) return std::make_unique<limiter::MemoryStore>(shared_.memory);
  redis::Options options = *shared_.redis;
  options.scripts = limiter::script_texts();
  redis_ = std::make_unique<redis::Client>(context_, std::move(options), observe_redis());
  auto store = std::make_unique<limiter::RedisStore>(*redis_, shared_.clock, observe_store());
  return store;
}

limiter::RedisStoreObserver Worker::observe_store() {
  telemetry::Metrics& metrics = shared_.metrics;
  return {
      .answered = [&metrics](std::chrono::nanoseconds took) { metrics.redis_duration.observe(took); },
      .failed = [&metrics](limiter::StoreFault fault) { metrics.redis_errors.count(static_cast<std::size_t>(fault)); }};
}

redis::Observer Worker::observe_redis() {
  auto lost = [this](const Error& error, std::string_view event, std::string_view message) {
    shared_.redis_outage.failed(static_cast<std::uint32_t>(index_), event, message, error, {{"worker", index_}});
    note_redis_ready();
  };
  return {.connected = [this](const redis::ServerInfo& server) { on_connected(server); },
          .connect_failed =
              [this, lost](const Error& error) {
                if (error.code == "no_login" && redis_address_.empty()) return await_login();
                const limiter::StoreFault fault = connect_fault(error.code);
                shared_.metrics.redis_errors.count(static_cast<std::size_t>(fault));
                const bool rejected = fault == limiter::StoreFault::authentication && error.code != "sentinel_login";
                if (rejected && shared_.redis_login_rejected) shared_.redis_login_rejected();
                lost(error, "redis_connect_failed", "Redis cannot be used yet; failure modes decide meanwhile.");
              },
          .disconnected =
              [lost](const Error& error) {
                lost(error, "redis_disconnected", "The connection to Redis is lost; the agent reconnects.");
              },
          .breaker_changed = [this](const std::string& endpoint,
                                    redis::Breaker::State state) { on_breaker_changed(endpoint, state); },
          .endpoint_added =
              [this](const std::string& endpoint) { shared_.metrics.breaker_states.set(index_, endpoint, 0); },
          .endpoint_removed =
              [this](const std::string& endpoint) {
                shared_.metrics.breaker_states.remove(index_, endpoint);
                open_breakers_.erase(endpoint);
                note_redis_ready();
              },
          .slots_changed = [this] { note_redis_ready(); },
          .sentinel_failed =
              [this](const Error& error) {
                shared_.log.warn("redis_sentinel_failed", "One sentinel failed: it cannot help to find the primary.",
                                 {{"worker", index_}, {"code", error.code}, {"reason", error.text}});
              },
          .rotated =
              [this](const redis::ServerInfo& server) {
                shared_.log.info("redis_credentials_renewed", "The connection to Redis uses the new credentials.",
                                 {{"worker", index_}, {"address", server.address}});
              },
          .rotation_failed =
              [this](const Error& error) {
                const limiter::StoreFault fault = connect_fault(error.code);
                shared_.metrics.redis_errors.count(static_cast<std::size_t>(fault));
                if (fault == limiter::StoreFault::authentication && shared_.redis_login_rejected) {
                  shared_.redis_login_rejected();
                }
                shared_.log.warn("redis_credentials_rejected",
                                 "The new credentials for Redis do not work; the agent keeps its connection and tries "
                                 "them again.",
                                 {{"worker", index_}, {"code", error.code}, {"reason", error.text}});
              },
          .healed =
              [this](const redis::Reply& reply) {
                const limiter::StoreFault fault = limiter::classify_error(reply).fault;
                shared_.metrics.redis_errors.count(static_cast<std::size_t>(fault));
              }};
}

void Worker::on_breaker_changed(const std::string& endpoint, redis::Breaker::State state) {
  shared_.metrics.breaker_states.set(index_, endpoint, static_cast<int>(state));
  switch (state) {
    case redis::Breaker::State::open:
      open_breakers_.insert(endpoint);
      return shared_.redis_outage.failed(
          static_cast<std::uint32_t>(index_), "breaker_opened",
          "Redis does not answer: its circuit breaker is open, and failure modes decide at once.",
          {"breaker_open", endpoint + " does not answer"}, {{"worker", index_}, {"endpoint", endpoint}});
    case redis::Breaker::State::half_open:
      return shared_.log.debug("breaker_half_open", "Redis answers again: the agent tries one decision.",
                               {{"worker", index_}, {"endpoint", endpoint}});
    case redis::Breaker::State::closed:
      shared_.log.debug("breaker_closed", "Redis decides again: its circuit breaker is closed.",
                        {{"worker", index_}, {"endpoint", endpoint}});
      open_breakers_.erase(endpoint);
      return note_redis_ready();
  }
}

// Before the first connection a missing login is no error.
void Worker::await_login() {
  note_redis_ready();
  if (std::exchange(awaits_login_, true)) return;
  shared_.log.info("redis_login_awaited",
                   "The agent waits for the server to hand out the login to Redis; failure modes decide meanwhile.",
                   {{"worker", index_}});
}

void Worker::note_redis_ready() {
  using Known = telemetry::WorkerMetrics::Known;
  const bool ready = redis_->ready();
  redis_ready_.store(ready, std::memory_order_relaxed);
  telemetry::set(shared_.metrics.workers.at(index_).redis_connected, ready ? Known::yes : Known::no);
  if (ready && open_breakers_.empty()) shared_.redis_outage.works(static_cast<std::uint32_t>(index_));
}

void Worker::on_connected(const redis::ServerInfo& server) {
  using Known = telemetry::WorkerMetrics::Known;
  telemetry::WorkerMetrics& metrics = shared_.metrics.workers.at(index_);
  const bool never_evicts = server.maxmemory_policy == "noeviction";
  const std::string before = std::exchange(redis_address_, server.address);
  // After an outage, "redis_back" says the same.
  const bool is_news = !shared_.redis_outage.lasts() || before != server.address;
  note_redis_ready();
  telemetry::set(metrics.redis_eviction_policy_ok, never_evicts ? Known::yes : Known::no);
  shared_.log.write(is_news ? telemetry::LogLevel::info : telemetry::LogLevel::debug, "redis_connected",
                    "Counters are in Redis.",
                    {{"worker", index_},
                     {"address", server.address},
                     {"product", server.product},
                     {"version", server.version},
                     {"role", server.role}});
  if (!server.in_cluster && !before.empty() && before != server.address) {
    metrics.redis_primary_changes.fetch_add(1, std::memory_order_relaxed);
    shared_.log.warn("redis_primary_changed",
                     "Counters are in another Redis now; what had not been replicated to it is lost.",
                     {{"worker", index_}, {"from", before}, {"to", server.address}});
  }
  if (!never_evicts) {
    shared_.log.warn("redis_evicts",
                     "maxmemory-policy is not noeviction: Redis may drop counters, and limits with them.",
                     {{"worker", index_}, {"maxmemory_policy", server.maxmemory_policy}});
  }
  publish_overrides();
}

// All workers share the counters and their overrides, so only the first worker writes overrides.
void Worker::publish_overrides() {
  if (index_ == 0 && (!redis_ || redis_->reachable())) overrides_.publish(in_force_);
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

void Worker::run() {
  if (redis_) redis_->start();
  for (bool stopped = false; !stopped;) {
    try {
      context_.run();
      stopped = true;
    } catch (const std::bad_alloc&) {  // ends one event; the loop goes on with the others
    }
  }
}

void Worker::set_snapshot(policies::Publication publication, std::function<void()> on_used) {
  boost::asio::post(context_, [this, publication = std::move(publication), on_used = std::move(on_used)]() mutable {
    in_force_ = std::move(publication);
    decider_.set_snapshot(in_force_.snapshot);
    api_.set_head(std::nullopt);
    if (in_force_.snapshot) had_policies_.store(true, std::memory_order_relaxed);
    tell_health();
    if (on_used) on_used();
    publish_overrides();
  });
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
    waiting_room_.close();
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
  grpc_->set_serving(limits_alone || shared_.options.allow_without_snapshot || had_policies());
}

void Worker::stop() {
  boost::asio::post(context_, [this] {
    server_.close_all();
    if (grpc_) grpc_->close_all();
    context_.stop();
  });
}

// Replaces the alarm before it, which is later.
void Worker::wake_waiting_at(decide::WaitingRoom::Time at) {
  waiting_timer_.expires_at(at);
  waiting_timer_.async_wait([this](const boost::system::error_code& stopped) {
    if (!stopped) waiting_room_.wake(std::chrono::steady_clock::now());
  });
}

std::chrono::steady_clock::time_point Worker::last_turn() const {
  return std::chrono::steady_clock::time_point(
      std::chrono::steady_clock::duration(last_turn_.load(std::memory_order_relaxed)));
}

// Shows /livez that the loop still runs, and copies statistics into the metrics. Wakes the waiting room, in case that
// there was no memory for its alarm.
void Worker::tick() {
  last_turn_.store(std::chrono::steady_clock::now().time_since_epoch().count(), std::memory_order_relaxed);
  const http::ServerStats& stats = server_.stats();
  telemetry::WorkerMetrics& metrics = shared_.metrics.workers.at(index_);
  telemetry::set(metrics.http_connections, stats.open_connections);
  telemetry::set(metrics.http_connections_accepted, stats.accepted);
  telemetry::set(metrics.http_connections_refused, stats.refused_connections);
  telemetry::set(metrics.http_accept_errors, stats.accept_errors);
  telemetry::set(metrics.http_bad_requests, stats.bad_requests);
  telemetry::set(metrics.tls_failures, stats.tls_failures);
  telemetry::set(metrics.http_waiting_output, stats.waiting_output);
  telemetry::set(metrics.http_slow_readers, stats.slow_readers);
  if (grpc_) {
    grpc_->copy_statistics();
    tell_health();
  }
  if (redis_) {
    telemetry::set(metrics.redis_writes, redis_->writes());
    telemetry::set(metrics.redis_waiting, redis_->waiting());
    telemetry::set(metrics.redis_window, redis_->window());
    telemetry::set(metrics.redis_redirects, redis_->redirects());
  }
  if (index_ == 0) {
    telemetry::set(metrics.in_flight, shared_.in_flight.count());
    shared_.redis_outage.tick();
    refusal_log_.tick(std::chrono::steady_clock::now());
  }
  if (!waiting_room_.empty()) waiting_room_.wake(std::chrono::steady_clock::now());
  ticker_.expires_after(kTick);
  ticker_.async_wait([this](const boost::system::error_code& stopped) {
    if (!stopped) tick();
  });
}

}  // namespace sluice::agent
