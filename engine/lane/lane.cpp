#include "engine/lane/lane.hpp"

#include <cstdint>
#include <utility>

#include <boost/asio/post.hpp>

#include "common/limiter/memory_store.hpp"
#include "common/limiter/redis_store.hpp"

namespace sluice::engine {
namespace {

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

Lane::Lane(std::size_t index, boost::asio::io_context& context, Shared& shared, std::function<void()> on_snapshot)
    : index_(index),
      context_(context),
      shared_(shared),
      on_snapshot_(std::move(on_snapshot)),
      store_(make_store()),
      local_limits_(shared.redis ? std::make_optional<decide::LocalLimits>(shared.memory, shared.live_agents)
                                 : std::nullopt),
      recorder_(shared.metrics, shared.decision_log, shared.options.policy_label,
                shared.usage ? &shared.usage->worker(index) : nullptr),
      waiting_timer_(context),
      waiting_room_(shared.waiting, shared.options.max_wait,
                    [this](decide::WaitingRoom::Time at) { wake_waiting_at(at); }),
      traced_store_(engine::traced_store(shared.redis)),
      decider_(*store_, local_limits_ ? &*local_limits_ : nullptr, shared.clock, shared.in_flight, waiting_room_,
               recorder_, {.allow = shared.options.allow_without_snapshot, .cause = shared.why_no_policies},
               decide::MatchingBudget(shared.options.matching_budget),
               decide::RedisTime(shared.options.redis_budget, shared.options.lanes)),
      overrides_(context, *store_, shared.metrics, shared.log, [this] { publish_overrides(); }) {
  if (shared.tracer != nullptr) decider_.trace(*shared.tracer, traced_store());
  if (shared.recording != nullptr) recorder_.record_into(shared.recording->worker(index), shared.clock);
}

std::unique_ptr<limiter::CounterStore> Lane::make_store() {
  if (!shared_.redis) return std::make_unique<limiter::MemoryStore>(shared_.memory);
  redis_.emplace(index_, context_, shared_, [this] { publish_overrides(); });
  return std::make_unique<limiter::RedisStore>(redis_->client(), shared_.clock, redis_->store_observer());
}

void Lane::start() {
  if (redis_) redis_->start();
}

void Lane::stop() {
  if (redis_) redis_->stop();
}

void Lane::close() {
  if (redis_) redis_->close();
}

void Lane::use(policies::Publication publication, const std::function<void()>& on_used) {
  in_force_ = std::move(publication);
  decider_.set_snapshot(in_force_.snapshot);
  if (in_force_.snapshot) had_policies_.store(true, std::memory_order_relaxed);
  if (on_snapshot_) on_snapshot_();
  if (on_used) on_used();
  publish_overrides();
}

void Lane::set_snapshot(policies::Publication publication, std::function<void()> on_used) {
  boost::asio::post(context_, [this, publication = std::move(publication), on_used = std::move(on_used)]() mutable {
    use(std::move(publication), on_used);
  });
}

// All lanes share the counters and their overrides, so only the first lane writes overrides.
void Lane::publish_overrides() {
  if (index_ == 0 && (!redis_ || redis_->reachable())) overrides_.publish(in_force_);
}

// Replaces the alarm before it, which is later.
void Lane::wake_waiting_at(decide::WaitingRoom::Time at) {
  waiting_timer_.expires_at(at);
  waiting_timer_.async_wait([this](const boost::system::error_code& stopped) {
    if (!stopped) waiting_room_.wake(std::chrono::steady_clock::now());
  });
}

void Lane::tick() {
  if (redis_) redis_->copy_statistics();
  if (index_ == 0) {
    telemetry::set(shared_.metrics.workers.at(index_).in_flight, shared_.in_flight.count());
    shared_.redis_outage.tick();
  }
  if (!waiting_room_.empty()) waiting_room_.wake(std::chrono::steady_clock::now());
}

}  // namespace sluice::engine
