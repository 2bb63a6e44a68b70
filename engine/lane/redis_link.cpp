#include "engine/lane/redis_link.hpp"

#include <string_view>
#include <utility>

namespace sluice::engine {
namespace {

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

redis::Options with_scripts(redis::Options options) {
  options.scripts = limiter::script_texts();
  return options;
}

}  // namespace

RedisLink::RedisLink(std::size_t lane, boost::asio::io_context& context, Shared& shared,
                     std::function<void()> on_connected)
    : lane_(lane),
      shared_(shared),
      on_connected_(std::move(on_connected)),
      client_(std::make_unique<redis::Client>(context, with_scripts(*shared.redis), observe())) {}

limiter::RedisStoreObserver RedisLink::store_observer() {
  telemetry::Metrics& metrics = shared_.metrics;
  return {
      .answered = [&metrics](std::chrono::nanoseconds took) { metrics.redis_duration.observe(took); },
      .failed = [&metrics](limiter::StoreFault fault) { metrics.redis_errors.count(static_cast<std::size_t>(fault)); }};
}

redis::Observer RedisLink::observe() {
  return {
      .connected = [this](const redis::ServerInfo& server) { on_connected(server); },
      .connect_failed = [this](const Error& error) { on_connect_failed(error); },
      .disconnected =
          [this](const Error& error) {
            on_lost(error, "redis_disconnected", "The connection to Redis is lost; the agent reconnects.");
          },
      .breaker_changed = [this](const std::string& endpoint,
                                redis::Breaker::State state) { on_breaker_changed(endpoint, state); },
      .endpoint_added = [this](const std::string& endpoint) { shared_.metrics.breaker_states.set(lane_, endpoint, 0); },
      .endpoint_removed =
          [this](const std::string& endpoint) {
            shared_.metrics.breaker_states.remove(lane_, endpoint);
            open_breakers_.erase(endpoint);
            note_ready();
          },
      .slots_changed = [this] { note_ready(); },
      .sentinel_failed =
          [this](const Error& error) {
            shared_.log.warn("redis_sentinel_failed", "One sentinel failed: it cannot help to find the primary.",
                             {{"worker", lane_}, {"code", error.code}, {"reason", error.text}});
          },
      .rotated =
          [this](const redis::ServerInfo& server) {
            shared_.log.info("redis_credentials_renewed", "The connection to Redis uses the new credentials.",
                             {{"worker", lane_}, {"address", server.address}});
          },
      .rotation_failed = [this](const Error& error) { on_rotation_failed(error); },
      .healed =
          [this](const redis::Reply& reply) {
            const limiter::StoreFault fault = limiter::classify_error(reply).fault;
            shared_.metrics.redis_errors.count(static_cast<std::size_t>(fault));
          }};
}

void RedisLink::on_connected(const redis::ServerInfo& server) {
  using Known = telemetry::WorkerMetrics::Known;
  telemetry::WorkerMetrics& metrics = shared_.metrics.workers.at(lane_);
  const bool never_evicts = server.maxmemory_policy == "noeviction";
  const std::string before = std::exchange(address_, server.address);
  // After an outage, "redis_back" says the same.
  const bool is_news = !shared_.redis_outage.lasts() || before != server.address;
  note_ready();
  telemetry::set(metrics.redis_eviction_policy_ok, never_evicts ? Known::yes : Known::no);
  shared_.log.write(is_news ? telemetry::LogLevel::info : telemetry::LogLevel::debug, "redis_connected",
                    "Counters are in Redis.",
                    {{"worker", lane_},
                     {"address", server.address},
                     {"product", server.product},
                     {"version", server.version},
                     {"role", server.role}});
  if (!server.in_cluster && !before.empty() && before != server.address) {
    metrics.redis_primary_changes.fetch_add(1, std::memory_order_relaxed);
    shared_.log.warn("redis_primary_changed",
                     "Counters are in another Redis now; what had not been replicated to it is lost.",
                     {{"worker", lane_}, {"from", before}, {"to", server.address}});
  }
  if (!never_evicts) {
    shared_.log.warn("redis_evicts",
                     "maxmemory-policy is not noeviction: Redis may drop counters, and limits with them.",
                     {{"worker", lane_}, {"maxmemory_policy", server.maxmemory_policy}});
  }
  on_connected_();
}

void RedisLink::on_lost(const Error& error, std::string_view event, std::string_view message) {
  shared_.redis_outage.failed(static_cast<std::uint32_t>(lane_), event, message, error, {{"worker", lane_}});
  note_ready();
}

void RedisLink::on_connect_failed(const Error& error) {
  if (error.code == "no_login" && address_.empty()) return await_login();
  const limiter::StoreFault fault = count_fault(error.code);
  const bool rejected = fault == limiter::StoreFault::authentication && error.code != "sentinel_login";
  if (rejected && shared_.redis_login_rejected) shared_.redis_login_rejected();
  on_lost(error, "redis_connect_failed", "Redis cannot be used yet; failure modes decide meanwhile.");
}

void RedisLink::on_rotation_failed(const Error& error) {
  const limiter::StoreFault fault = count_fault(error.code);
  if (fault == limiter::StoreFault::authentication && shared_.redis_login_rejected) shared_.redis_login_rejected();
  shared_.log.warn("redis_credentials_rejected",
                   "The new credentials for Redis do not work; the agent keeps its connection and tries them again.",
                   {{"worker", lane_}, {"code", error.code}, {"reason", error.text}});
}

void RedisLink::on_breaker_changed(const std::string& endpoint, redis::Breaker::State state) {
  shared_.metrics.breaker_states.set(lane_, endpoint, static_cast<int>(state));
  switch (state) {
    case redis::Breaker::State::open:
      open_breakers_.insert(endpoint);
      return shared_.redis_outage.failed(
          static_cast<std::uint32_t>(lane_), "breaker_opened",
          "Redis does not answer: its circuit breaker is open, and failure modes decide at once.",
          {"breaker_open", endpoint + " does not answer"}, {{"worker", lane_}, {"endpoint", endpoint}});
    case redis::Breaker::State::half_open:
      return shared_.log.debug("breaker_half_open", "Redis answers again: the agent tries one decision.",
                               {{"worker", lane_}, {"endpoint", endpoint}});
    case redis::Breaker::State::closed:
      shared_.log.debug("breaker_closed", "Redis decides again: its circuit breaker is closed.",
                        {{"worker", lane_}, {"endpoint", endpoint}});
      open_breakers_.erase(endpoint);
      return note_ready();
  }
}

// Before the first connection a missing login is no error.
void RedisLink::await_login() {
  note_ready();
  if (std::exchange(awaits_login_, true)) return;
  shared_.log.info("redis_login_awaited",
                   "The agent waits for the server to hand out the login to Redis; failure modes decide meanwhile.",
                   {{"worker", lane_}});
}

void RedisLink::note_ready() {
  using Known = telemetry::WorkerMetrics::Known;
  const bool ready = client_->ready();
  ready_.store(ready, std::memory_order_relaxed);
  telemetry::set(shared_.metrics.workers.at(lane_).redis_connected, ready ? Known::yes : Known::no);
  if (ready && open_breakers_.empty()) shared_.redis_outage.works(static_cast<std::uint32_t>(lane_));
}

limiter::StoreFault RedisLink::count_fault(std::string_view code) {
  const limiter::StoreFault fault = connect_fault(code);
  shared_.metrics.redis_errors.count(static_cast<std::size_t>(fault));
  return fault;
}

void RedisLink::copy_statistics() {
  telemetry::WorkerMetrics& metrics = shared_.metrics.workers.at(lane_);
  telemetry::set(metrics.redis_writes, client_->writes());
  telemetry::set(metrics.redis_waiting, client_->waiting());
  telemetry::set(metrics.redis_window, client_->window());
  telemetry::set(metrics.redis_redirects, client_->redirects());
}

}  // namespace sluice::engine
