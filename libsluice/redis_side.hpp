// Decides with counters in Redis: the lanes, and what they share.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "engine/lane/shared.hpp"
#include "engine/policies/live_agents.hpp"
#include "libsluice/observers.hpp"
#include "libsluice/redis_lane.hpp"
#include "sluice/engine.hpp"

namespace sluice::lib {

std::size_t redis_lane_count(const v1::Options& options);

// Thread safety: any thread.
class RedisSide {
 public:
  // `memory`: the counters of failure mode fail_degrade. `usage`: nullptr if nobody asks for it. All outlive this
  // object.
  RedisSide(const v1::Options& options, redis::Options redis, const Clock& clock, Counting& counting,
            telemetry::Log& log, limiter::MemoryCounters& memory, usage::Usage* usage);

  // REQUIRES: no other thread uses this object, nor later.
  void close() {
    for (const auto& each : lanes_) each->close();
  }

  // The lane for this thread.
  RedisLane& lane();
  void publish(const policies::Publication& publication);
  void set_live_agents(const sync::LiveAgents& live) { live_agents_.set(live); }

  // The loop that has no thread; nullptr if there is none.
  Loop* loop() { return threads_ == 0 ? &lanes_.front()->loop() : nullptr; }

 private:
  const std::size_t threads_;
  policies::LiveAgents live_agents_;
  engine::Shared shared_;
  std::vector<std::unique_ptr<RedisLane>> lanes_;
};

}  // namespace sluice::lib
