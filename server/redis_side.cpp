#include "server/redis_side.hpp"

#include <utility>

#include "server/counters/metrics.hpp"
#include "server/redis_users/metrics.hpp"

namespace sluice::server {
namespace {

// How soon the server notices that Redis is back, if agents wait for the users that it has to write there.
constexpr std::chrono::milliseconds kReconnectEvery{400};

std::unique_ptr<counters::Publisher> make_publisher(const Config& config, const Clock& clock, telemetry::Log& log) {
  if (!config.redis) return nullptr;
  counters::Publisher::Options options{.database = config.database,
                                       .redis = *config.redis,
                                       .allow_evicting = config.allow_evicting,
                                       .survey_every = config.redis_survey};
  if (config.redis_users.per_scope) options.redis.backoff_max = options.redis.probe_every = kReconnectEvery;
  return std::make_unique<counters::Publisher>(std::move(options), clock, log);
}

}  // namespace

// The keeper shares the publisher's link to Redis.
RedisSide::RedisSide(const Config& config, const fleet::Fleet& fleet, const sync::Feed& feed, const Clock& clock,
                     telemetry::Log& log)
    : publisher_(make_publisher(config, clock, log)), log_(log) {
  if (config.redis_users.per_scope) {
    auto keeper = std::make_unique<redis_users::Keeper>(
        redis_users::Keeper::Options{.secret_file = config.redis_users.secret_file}, publisher_->link(),
        redis_users::Keeper::Questions{
            .tokens_with_other_logins =
                [&fleet](std::string_view generation) { return fleet.tokens_with_other_logins(generation); },
            .follows_postgres = [&feed] { return feed.statistics().following.load(); }},
        clock, log);
    users_ = keeper.get();
    login_ = std::move(keeper);
  } else if (!config.identity.agents_redis_password_file.empty()) {
    login_ = std::make_unique<sync::FixedLogin>(config.identity.agents_redis_user,
                                                config.identity.agents_redis_password_file);
  }
}

// The keeper's thread uses the publisher's link, and the link's thread wakes the keeper.
RedisSide::~RedisSide() {
  if (users_ != nullptr) users_->stop();
  if (publisher_) publisher_->stop();
}

bool RedisSide::start(telemetry::Registry& metrics) {
  if (!publisher_) return true;
  metrics.add(counters::metrics(), *publisher_);
  metrics.add(publisher_->link().breaker_states());
  publisher_->survey().add_metrics(metrics);
  if (users_ != nullptr) {
    metrics.add(redis_users::metrics(), users_->statistics());
    publisher_->on_connected([this] { users_->wake(); });
    users_->start();
  }
  const auto started = publisher_->start();
  if (!started) log_.error("redis_refused", started.error().text, {{"code", started.error().code}});
  return started.has_value();
}

bool RedisSide::stop_within(std::chrono::milliseconds timeout) {
  if (users_ != nullptr) users_->stop();
  return !publisher_ || publisher_->stop_within(timeout);
}

void RedisSide::set_state(const sync::SyncStatePtr& state) {
  if (users_ != nullptr) users_->set_state(state);
}

std::vector<std::string> RedisSide::degraded() const {
  std::vector<std::string> found;
  if (publisher_) found = publisher_->degraded();
  if (users_ != nullptr) {
    for (std::string& text : users_->degraded()) found.push_back(std::move(text));
  }
  return found;
}

}  // namespace sluice::server
