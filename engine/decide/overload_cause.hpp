// Why a check gets the reason `overload`, for metrics.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sluice::decide {

enum class OverloadCause : std::uint8_t {
  counter_store,  // Redis is busy, and the tenant asked for more than its turns; or counters in memory have no room
  in_flight,      // all places of --max-in-flight are taken
  tenant_share,   // the tenant has more than its share of these places, and few are left
  key_share,      // the API key has more than its share of its tenant's places, and few are left
  matching,       // the tenant has used up --matching-budget
  redis_time,     // Redis is busy, and the tenant has used up --redis-budget
  memory,         // an allocation failed
};
inline constexpr std::array<std::string_view, 7> kOverloadCauses{
    "counter_store", "in_flight", "tenant_share", "key_share", "matching", "redis_time", "memory"};
static_assert(static_cast<std::size_t>(OverloadCause::memory) + 1 == kOverloadCauses.size());

}  // namespace sluice::decide
