// Bounds the time that matching one tenant's checks takes a worker (--matching-budget), because all other checks of the
// worker wait meanwhile. Each tenant has a token bucket of time. Whoever has a token may match for up to kLongest, and
// then owes what the bucket did not hold: a check that was stopped for want of time would waste the time that it took.
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

namespace sluice::agent::decide {

class MatchingBudget {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Duration = std::chrono::nanoseconds;

  static constexpr Duration kBurst = std::chrono::milliseconds(1);    // how much a tenant can save up
  static constexpr Duration kLongest = std::chrono::milliseconds(2);  // of one check; also the most that a tenant owes

  // `per_second`: the time of one tenant in each second, above 0; a whole second is no bound.
  explicit MatchingBudget(Duration per_second) : share_(std::chrono::duration<double>(per_second).count()) {}

  bool bounds() const { return share_ < 1; }

  // How long a check of the tenant may match. `tenant`: a hash of its id.
  Duration allowance(std::uint64_t tenant, Time now) {
    Bucket& bucket = bucket_of(tenant);
    const Duration since = now - bucket.as_of;
    bucket.as_of = now;
    const Duration earned(static_cast<Duration::rep>(share_ * static_cast<double>(since.count())));
    bucket.left = std::min(bucket.left + earned, kBurst);
    return bucket.left > Duration(0) ? kLongest : Duration(0);
  }

  void charge(std::uint64_t tenant, Duration taken) {
    Duration& left = bucket_of(tenant).left;
    left = std::max(left - taken, -kLongest);
  }

 private:
  struct Bucket {
    Duration left{0};
    Time as_of{};  // long ago, so that each tenant begins with the whole burst
  };
  static constexpr std::size_t kBuckets = 1024;

  Bucket& bucket_of(std::uint64_t tenant) { return buckets_[tenant % kBuckets]; }

  const double share_;
  std::array<Bucket, kBuckets> buckets_{};
};

}  // namespace sluice::agent::decide
