// Decides with counters in Redis: the lanes of an engine.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "engine/core/core.hpp"
#include "libsluice/redis_lane.hpp"
#include "sluice/engine.hpp"

namespace sluice::lib {

std::size_t redis_lane_count(const v1::Options& options);

// Thread safety: any thread.
class RedisSide {
 public:
  // Adds its lanes to the core. Both outlive this object.
  RedisSide(const v1::Options& options, engine::Core& core);

  // REQUIRES: no other thread uses this object, nor later.
  void close() {
    for (const auto& each : lanes_) each->close();
  }

  // The lane for this thread.
  RedisLane& lane();

  // The loop that has no thread; nullptr if there is none.
  Loop* loop() { return threads_ == 0 ? &lanes_.front()->loop() : nullptr; }

 private:
  const std::size_t threads_;
  std::vector<std::unique_ptr<RedisLane>> lanes_;
};

}  // namespace sluice::lib
