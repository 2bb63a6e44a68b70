// Bounds the time that matching one tenant's checks takes a worker (--matching-budget), because all other checks of the
// worker wait meanwhile. Whoever has time left may match for up to kLongest, and then owes what was not there: a check
// that was stopped for want of time would waste the time that it took.
//
// Thread: one worker's. Time is an argument.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "engine/decide/time_buckets.hpp"

namespace sluice::decide {

class MatchingBudget {
 public:
  using Time = TimeBuckets::Time;
  using Duration = std::chrono::nanoseconds;

  static constexpr Duration kBurst = std::chrono::milliseconds(1);    // how much a tenant can save up
  static constexpr Duration kLongest = std::chrono::milliseconds(2);  // of one check; also the most that a tenant owes

  // `per_second`: the time of one tenant in each second, above 0; a whole second is no bound.
  explicit MatchingBudget(Duration per_second) : share_(std::chrono::duration<double>(per_second).count()) {}

  bool bounds() const { return share_ < 1; }

  // How long a check of the tenant may match. `tenant`: a hash of its id.
  Duration allowance(std::uint64_t tenant, Time now) {
    return buckets_.refill(tenant, share_, kBurst, now).count() > 0 ? kLongest : Duration(0);
  }

  void charge(std::uint64_t tenant, Duration taken) {
    TimeBuckets::Nanoseconds& left = buckets_.left(tenant);
    left = std::max<TimeBuckets::Nanoseconds>(left - taken, -kLongest);
  }

 private:
  const double share_;
  TimeBuckets buckets_;
};

}  // namespace sluice::decide
