// Estimates from random keys how much of Redis each tenant uses. Only arithmetic: MemorySurvey asks Redis.
//
// A random key is one of tenant t with the probability keys(t) / keys. So the tenant's part of the bytes of n random
// keys estimates its part of all bytes. With 400 keys of like sizes, 95 of 100 estimates are wrong by at most 5 % of
// all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::server::counters {

// The tenant of the counter key "sl:{TENANT|…". nullopt: another key.
std::optional<std::string_view> tenant_of(std::string_view key);

struct SampledKey {
  std::string tenant;  // "": the key is no tenant's
  std::int64_t bytes = 0;
};

struct NodeSample {
  std::int64_t keys = 0;  // on the node
  std::vector<SampledKey> sampled;
};

struct TenantShare {
  std::string tenant;  // "": everything that is not of the tenants listed
  double keys = 0;
  double bytes = 0;
  double share = 0;   // of the bytes of all keys, 0 to 1
  double margin = 0;  // the true share is within `share` ± margin with a probability of about 95 %
};

// The tenants that use the most, at most `most`, the foremost first; then the rest, if there is any. Empty without
// keys.
std::vector<TenantShare> estimate_shares(std::span<const NodeSample> nodes, std::size_t most);

}  // namespace sluice::server::counters
