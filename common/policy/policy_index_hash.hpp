// The hash functions of the policy index, for look-ups and changes.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <string_view>

#include "common/base/keyed_hash.hpp"
#include "common/domain/ip_address.hpp"
#include "common/domain/resource.hpp"

namespace sluice::policy::index_hash {

// Every bit of `a` and `b` affects every bit of the result.
inline std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  constexpr std::uint64_t kA = 0x9E3779B97F4A7C15;
  constexpr std::uint64_t kB = 0xD1B54A32D192ED03;
  auto product = static_cast<unsigned __int128>(a ^ kA) * (b ^ kB);
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

inline std::uint64_t hash_of(std::string_view text) { return hash_text(text); }

inline std::uint64_t hash_of(const IpBlock& block) {
  const auto halves = std::bit_cast<std::array<std::uint64_t, 2>>(block.base.bytes);
  return mix(halves[0], halves[1]);
}

// The hash of a resource's method and of its segments at the places of `literals` (ResourcePattern). nullopt if the
// resource has not as many segments as the pattern.
inline std::optional<std::uint64_t> hash_of_pattern(std::string_view resource, std::uint8_t segments,
                                                    std::uint16_t literals) {
  std::uint64_t hash = segments;
  unsigned seen = 0;
  const bool whole = each_segment(resource, [&](std::string_view segment) {
    const bool counts = seen == 0 || (literals & (0x10000U >> seen)) != 0;
    if (counts) hash = mix(hash, hash_of(segment));
    return seen++ <= segments;
  });
  if (!whole || seen != segments + 1U) return std::nullopt;
  return hash;
}

}  // namespace sluice::policy::index_hash
