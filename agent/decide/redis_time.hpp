// Bounds how much of Redis' time one tenant's checks take while Redis is busy (--redis-budget), because all tenants of
// all agents wait for the same Redis. Each tenant has a token bucket of time in each worker. A tenant's buckets in all
// workers of all its agents together earn the budget, for each Redis that has counters.
//
// A check costs what the table of common/limiter/plan_cost.hpp says, so nothing is measured and nothing can lie.
// Tenants are hashed into a fixed number of buckets: memory is constant, and two tenants may share one.
//
// Thread: one worker's. Time is an argument.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace sluice::agent::decide {

class RedisTime {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Duration = std::chrono::nanoseconds;

  // `per_second`: the time of one Redis for one tenant in each second, above 0; a whole second is no bound.
  RedisTime(Duration per_second, std::size_t workers)
      : bounds_(per_second < std::chrono::seconds(1)), budget_(per_second / static_cast<Duration::rep>(workers)) {}

  bool bounds() const { return bounds_; }

  // Returns false if the tenant has no time left. Else the check is charged, and may leave the tenant in debt.
  // `tenant`: a hash of its id. `agents`: those that serve the tenant, at least 1. `servers`: that have counters.
  bool take(std::uint64_t tenant, Duration cost, std::int64_t agents, std::size_t servers, Time now) {
    Bucket& bucket = buckets_[tenant % kBuckets];
    const Duration a_second = budget_ * static_cast<Duration::rep>(servers) / agents;
    const Duration since = std::min<Duration>(now - std::exchange(bucket.as_of, now), kSaved);
    const double most = static_cast<double>(a_second.count());
    bucket.left_ns = std::min(bucket.left_ns + most * std::chrono::duration<double>(since).count(), most);
    if (bucket.left_ns <= 0) return false;
    bucket.left_ns -= static_cast<double>(cost.count());
    return true;
  }

 private:
  struct Bucket {
    double left_ns = 0;  // with fractions: a flood asks again before a whole nanosecond is earned
    Time as_of{};        // long ago, so that each tenant begins with a second's earnings
  };
  static constexpr std::size_t kBuckets = 1024;
  static constexpr std::chrono::seconds kSaved{1};

  const bool bounds_;
  const Duration budget_;  // of this worker, before it is divided among agents
  std::array<Bucket, kBuckets> buckets_{};
};

}  // namespace sluice::agent::decide
