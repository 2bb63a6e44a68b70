// Remembers which policies matched the last requests. Most callers have few routes and many subjects, and most scopes
// name the route alone: so the next request most likely matches as one before it did.
//
// Thread: one worker's. Allocates nothing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "common/policy/match.hpp"

namespace sluice::policy {

class MatchMemory {
 public:
  // As policy::match() without `all`. REQUIRES: `snapshot` is the same since the last clear().
  Match match(const Snapshot& snapshot, const TenantView& tenant, const CheckRequest& request, const Moment& now,
              MatchTime* time);
  // A tenant of the next snapshot can have the address of one that is gone.
  void clear() { places_ = {}; }

 private:
  static constexpr unsigned kPlaceBits = 4;
  static constexpr std::size_t kMostBytes = 96;

  // The values of MatchInputs::dimensions(), each behind its size.
  struct Place {
    const TenantView* tenant = nullptr;
    std::uint64_t hash = 0;
    Match found;
    std::array<char, kMostBytes> values{};
  };

  static bool has_values(const Place& place, std::uint32_t dimensions, const CheckRequest& request);
  static bool write_values(std::uint32_t dimensions, const CheckRequest& request, Place& place);

  std::array<Place, std::size_t{1} << kPlaceBits> places_{};
  const Place* last_ = &places_.front();  // the place of the last hit; a thread often stays with one route
  std::uint32_t misses_ = 0;
};

}  // namespace sluice::policy
