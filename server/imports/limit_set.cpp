#include "server/imports/limit_set.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "common/domain/rate.hpp"
#include "server/imports/draft.hpp"

namespace sluice::server::imports {
namespace {

using Keys = std::vector<DimensionRef>;

Limit named(std::string name, Algorithm algorithm, std::int64_t count) {
  Limit limit;
  limit.name = std::move(name);
  limit.algorithm = algorithm;
  limit.limit = count;
  return limit;
}

void normalize(Keys& keys) {
  std::ranges::sort(keys);
  keys.erase(std::ranges::unique(keys).begin(), keys.end());
}

}  // namespace

void set_limits(Policy& policy, std::vector<KeyedLimit> limits) {
  for (KeyedLimit& each : limits) normalize(each.keys);
  Keys shared = limits.empty() ? Keys{} : limits.front().keys;
  for (const KeyedLimit& each : limits) {
    Keys both;
    std::ranges::set_intersection(shared, each.keys, std::back_inserter(both));
    shared = std::move(both);
  }
  UniqueNames names('_');
  for (KeyedLimit& each : limits) {
    Limit limit = std::move(each.limit);
    limit.name = names.add(limit.name);
    std::ranges::set_difference(each.keys, shared, std::back_inserter(limit.key_by));
    policy.limits.push_back(std::move(limit));
  }
  policy.enforcement.key_by = std::move(shared);
  policy.enforcement.required = RequiredDimensions::key_by;
}

Limit window_limit(std::string name, std::int64_t limit, Micros window, Align align) {
  Limit made = named(std::move(name), Algorithm::fixed_window, limit);
  made.window = window;
  made.align = align;
  return made;
}

Limit sliding_limit(std::string name, std::int64_t limit, Micros window) {
  Limit made = named(std::move(name), Algorithm::sliding_window, limit);
  made.window = window;
  return made;
}

Limit bucket_limit(std::string name, Algorithm algorithm, std::int64_t capacity, std::int64_t units, Micros per) {
  Limit made = named(std::move(name), algorithm, capacity);
  made.rate = lowest_terms(units, per);
  return made;
}

Limit concurrency_limit(std::string name, std::int64_t limit) {
  Limit made = named(std::move(name), Algorithm::concurrency, limit);
  made.lease_ttl = kLeaseTtl;
  return made;
}

Limit quota_limit(std::string name, std::int64_t limit, Period period) {
  Limit made = named(std::move(name), Algorithm::quota, limit);
  made.period = period;
  return made;
}

}  // namespace sluice::server::imports
