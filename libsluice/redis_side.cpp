#include "libsluice/redis_side.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "libsluice/lanes.hpp"

namespace sluice::lib {
namespace {

// The program trusts itself: nothing is held, and no tenant is kept from what it asks for.
engine::LaneOptions lane_options(const v1::Options& options) {
  return {.lanes = redis_lane_count(options),
          .max_waiting = 0,
          .max_wait = {},
          .matching_budget = std::chrono::seconds(1),
          .redis_budget = std::chrono::seconds(1),
          .allow_without_snapshot = options.allow_without_policies};
}

}  // namespace

std::size_t redis_lane_count(const v1::Options& options) { return std::max(options.threads, 1U); }

RedisSide::RedisSide(const v1::Options& options, redis::Options redis, const Clock& clock, Counting& counting,
                     telemetry::Log& log, limiter::MemoryCounters& memory, usage::Usage* usage)
    : threads_(options.threads),
      shared_{.clock = clock,
              .metrics = counting.metrics(),
              .log = log,
              .decision_log = counting.log(),
              .memory = memory,
              .redis = std::move(redis),
              .options = lane_options(options),
              .live_agents = [this](std::string_view tenant) { return live_agents_.of(tenant); },
              .usage = usage} {
  while (lanes_.size() < redis_lane_count(options)) {
    lanes_.push_back(std::make_unique<RedisLane>(lanes_.size(), shared_, options.tenant, options.on_decision));
  }
  if (threads_ == 0) return;
  for (const auto& lane : lanes_) lane->start_thread();
}

// A callback that asks again is on a loop, and only this loop runs while it waits.
RedisLane& RedisSide::lane() {
  if (lanes_.size() == 1) return *lanes_.front();
  for (const auto& each : lanes_) {
    if (each->loop().is_here()) return *each;
  }
  return *lanes_[number_of_thread() % lanes_.size()];
}

void RedisSide::publish(const policies::Publication& publication) {
  for (const auto& each : lanes_) each->publish(publication);
}

}  // namespace sluice::lib
