#include "libsluice/redis_side.hpp"

#include <algorithm>
#include <memory>

#include "libsluice/lanes.hpp"

namespace sluice::lib {
std::size_t redis_lane_count(const v1::Options& options) { return std::max(options.threads, 1U); }

RedisSide::RedisSide(const v1::Options& options, engine::Core& core) : threads_(options.threads) {
  while (lanes_.size() < redis_lane_count(options)) {
    lanes_.push_back(std::make_unique<RedisLane>(lanes_.size(), core.shared(), options.tenant, options.on_decision));
    core.add(
        [lane = lanes_.back().get()](const policies::Publication& publication, const std::function<void()>& on_used) {
          lane->publish(publication, on_used);
        });
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

}  // namespace sluice::lib
