// Limits that count by different keys, in one policy: the policy's key_by has the keys that all of them share, and each
// limit adds the rest.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/domain/policy.hpp"

namespace sluice::server::imports {

struct KeyedLimit {
  Limit limit;
  std::vector<DimensionRef> keys;  // of its counters
};

// Sets limits and key_by, and gives limits of the same name a number. A check must have the keys that all limits share.
void set_limits(Policy& policy, std::vector<KeyedLimit> limits);

Limit window_limit(std::string name, std::int64_t limit, Micros window, Align align);
Limit sliding_limit(std::string name, std::int64_t limit, Micros window);
Limit bucket_limit(std::string name, Algorithm algorithm, std::int64_t capacity, std::int64_t units, Micros per);
Limit concurrency_limit(std::string name, std::int64_t limit);
Limit quota_limit(std::string name, std::int64_t limit, Period period);

// How long a lease lives that is neither released nor renewed. Other limiters see the end of a request; Sluice is told.
inline constexpr Micros kLeaseTtl = std::chrono::minutes(5);

}  // namespace sluice::server::imports
