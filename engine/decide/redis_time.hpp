// Bounds how much of Redis' time one tenant's checks take while Redis is busy (--redis-budget), because all tenants of
// all agents wait for the same Redis. A tenant's buckets in all workers of all its agents together earn the budget, for
// each Redis that has counters.
//
// A check costs what the table of common/limiter/plan_cost.hpp says, so nothing is measured and nothing can lie.
//
// Thread: one worker's. Time is an argument.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "engine/decide/time_buckets.hpp"

namespace sluice::decide {

class RedisTime {
 public:
  using Time = TimeBuckets::Time;
  using Duration = std::chrono::nanoseconds;

  // `per_second`: the time of one Redis for one tenant in each second, above 0; a whole second is no bound.
  RedisTime(Duration per_second, std::size_t workers)
      : bounds_(per_second < std::chrono::seconds(1)),
        share_(std::chrono::duration<double>(per_second).count() / static_cast<double>(workers)) {}

  bool bounds() const { return bounds_; }

  // Returns false if the tenant has no time left. Else the check is charged, and may leave the tenant in debt.
  // `tenant`: a hash of its id. `agents`: those that serve the tenant, at least 1. `servers`: that have counters.
  bool take(std::uint64_t tenant, Duration cost, std::int64_t agents, std::size_t servers, Time now) {
    const double share = share_ * static_cast<double>(servers) / static_cast<double>(agents);
    TimeBuckets::Nanoseconds& left = buckets_.refill(tenant, share, share * std::chrono::seconds(1), now);
    if (left.count() <= 0) return false;
    left -= cost;
    return true;
  }

 private:
  const bool bounds_;
  const double share_;  // of the time that passes, for this worker, before it is divided among agents
  TimeBuckets buckets_;
};

}  // namespace sluice::decide
