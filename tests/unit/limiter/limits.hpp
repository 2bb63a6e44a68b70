// Limits, calls and a clock for the limiter's tests.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "common/base/clock.hpp"
#include "common/limiter/counter_store.hpp"

namespace sluice::test {

class ManualClock final : public Clock {
 public:
  std::int64_t now_us() const override { return now; }
  std::int64_t now = 1'800'230'400'000'000;  // a Monday's midnight
};

inline Limit limit_of(std::string name, Algorithm algorithm, std::int64_t count) {
  Limit limit;
  limit.name = std::move(name);
  limit.algorithm = algorithm;
  limit.limit = count;
  return limit;
}

inline Limit bucket(std::string name, std::int64_t capacity, Rate rate, Algorithm algorithm = Algorithm::token_bucket) {
  Limit limit = limit_of(std::move(name), algorithm, capacity);
  limit.rate = rate;
  return limit;
}

inline Limit window(std::string name, Algorithm algorithm, std::int64_t count, Micros length) {
  Limit limit = limit_of(std::move(name), algorithm, count);
  limit.window = length;
  return limit;
}

inline Limit leases(std::string name, std::int64_t count, Micros ttl) {
  Limit limit = limit_of(std::move(name), Algorithm::concurrency, count);
  limit.lease_ttl = ttl;
  return limit;
}

inline Limit quota(std::string name, std::int64_t count, Period period) {
  Limit limit = limit_of(std::move(name), Algorithm::quota, count);
  limit.period = period;
  return limit;
}

// The same cost for every limit, explained. The draw is the same for every call with the same `draw`.
inline limiter::Call call_of(const limiter::Program& program, std::uint32_t cost, unsigned char draw = 0) {
  limiter::Call call;
  call.program = &program;
  call.explain = true;
  for (std::size_t g = 0; g < program.groups.size(); ++g) {
    call.keys.push_back(g == 0 ? "sl:{t|u}:p=x" : "sl:{t|u}:p=x:k=" + std::to_string(g));
  }
  call.costs.fill(cost);
  call.draw[0] = draw;
  return call;
}

}  // namespace sluice::test
