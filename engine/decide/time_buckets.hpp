// A token bucket of time for each tenant.
//
// Tenants are hashed into a fixed number of buckets, so memory is constant and nothing is allocated; two tenants may
// share one. Source: P. McKenney, "Stochastic Fairness Queueing", INFOCOM 1990.
//
// Thread: one worker's. Time is an argument.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace sluice::decide {

class TimeBuckets {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Nanoseconds = std::chrono::duration<double, std::nano>;  // with parts, so that frequent questions earn too

  // What the tenant has, which the caller may lower, also below 0. `tenant`: a hash of its id.
  Nanoseconds& left(std::uint64_t tenant) { return bucket_of(tenant).left; }

  // Adds what the tenant has earned since the last call. `share`: of the time that passes, above 0. `most`: that it can
  // save up. Returns left().
  Nanoseconds& refill(std::uint64_t tenant, double share, Nanoseconds most, Time now) {
    Bucket& bucket = bucket_of(tenant);
    const Nanoseconds since = now - std::exchange(bucket.as_of, now);
    bucket.left = std::min(bucket.left + share * since, most);
    return bucket.left;
  }

 private:
  struct Bucket {
    Nanoseconds left{0};
    Time as_of{};  // long ago, so that each tenant begins with all that it can save up
  };

  Bucket& bucket_of(std::uint64_t tenant) { return buckets_[tenant % buckets_.size()]; }

  std::array<Bucket, 1024> buckets_{};
};

}  // namespace sluice::decide
