// The names of the rate limit headers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sluice {

enum class LimitHeader : std::uint8_t {
  x_limit,
  x_remaining,
  x_reset,
  ietf_policy,
  ietf,
  ietf_partition,
  draft6_limit,
  draft6_remaining,
  draft6_reset,
  retry_after,
};
inline constexpr auto kLimitHeaderNames = std::to_array<std::string_view>(
    {"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "RateLimit-Policy", "RateLimit",
     "RateLimit-Partition", "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset", "Retry-After"});
static_assert(static_cast<std::size_t>(LimitHeader::retry_after) + 1 == kLimitHeaderNames.size());

constexpr std::string_view name_of(LimitHeader header) { return kLimitHeaderNames[static_cast<std::size_t>(header)]; }

}  // namespace sluice
