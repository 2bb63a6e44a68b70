#include "common/policy/match_memory.hpp"

#include <bit>
#include <cstring>

#include "common/base/keyed_hash.hpp"
#include "common/base/short_text.hpp"
#include "common/policy/policy_index_hash.hpp"

namespace sluice::policy {
namespace {

using Size = std::uint16_t;
constexpr Size kAbsent = UINT16_MAX;

// A miss takes a place only now and then. So requests that never come again cost little, and do not push out those that
// come often.
constexpr std::uint32_t kMissesPerPlace = 8;

// Calls `each` with the values of the dimensions, until it returns false. Returns whether it never did.
template <class Each>
bool for_values(std::uint32_t dimensions, const CheckRequest& request, Each each) {
  for (; dimensions != 0; dimensions &= dimensions - 1) {
    if (!each(request.dimensions[static_cast<std::size_t>(std::countr_zero(dimensions))])) return false;
  }
  return true;
}

// REQUIRES, if it is written: below kAbsent.
std::size_t size_of(const Value& value) { return value.present ? value.text.size() : kAbsent; }

std::uint64_t hash_of(std::uint64_t seed, std::uint32_t dimensions, const CheckRequest& request) {
  std::uint64_t hash = seed;
  for_values(dimensions, request, [&](const Value& value) {
    hash = index_hash::mix(hash, value.present ? hash_text(value.text) : 0);
    return true;
  });
  return hash;
}

}  // namespace

bool MatchMemory::has_values(const Place& place, std::uint32_t dimensions, const CheckRequest& request) {
  const char* at = place.values.data();
  return for_values(dimensions, request, [&](const Value& value) {
    Size size;
    std::memcpy(&size, at, sizeof size);
    if (size != size_of(value)) return false;
    at += sizeof size;
    if (!value.present) return true;
    const bool equal = are_same(at, value.text.data(), size);
    at += size;
    return equal;
  });
}

// Returns false if the place is too small.
bool MatchMemory::write_values(std::uint32_t dimensions, const CheckRequest& request, Place& place) {
  std::size_t used = 0;
  return for_values(dimensions, request, [&](const Value& value) {
    const std::size_t text_size = value.present ? value.text.size() : 0;
    if (used + sizeof(Size) + text_size > kMostBytes) return false;
    const auto size = static_cast<Size>(size_of(value));
    std::memcpy(place.values.data() + used, &size, sizeof size);
    if (text_size != 0) std::memcpy(place.values.data() + used + sizeof size, value.text.data(), text_size);
    used += sizeof size + text_size;
    return true;
  });
}

Match MatchMemory::match(const Snapshot& snapshot, const TenantView& tenant, const CheckRequest& request,
                         const Moment& now, MatchTime* time) {
  if (!tenant.inputs.are_dimensions()) return policy::match(snapshot, tenant, request, now, nullptr, time);
  const std::uint32_t dimensions = tenant.inputs.dimensions();
  if (last_->tenant == &tenant && has_values(*last_, dimensions, request)) return last_->found;
  const std::uint64_t hash = hash_of(tenant.name->hash, dimensions, request);
  Place& place = places_[hash >> (64 - kPlaceBits)];
  if (place.hash == hash && place.tenant == &tenant && has_values(place, dimensions, request)) {
    last_ = &place;
    return place.found;
  }

  const Match found = policy::match(snapshot, tenant, request, now, nullptr, time);
  if (++misses_ % kMissesPerPlace != 0 || (time != nullptr && time->spent())) return found;
  place.tenant = nullptr;
  if (write_values(dimensions, request, place)) {
    place.tenant = &tenant;
    place.hash = hash;
    place.found = found;
  }
  return found;
}

}  // namespace sluice::policy
