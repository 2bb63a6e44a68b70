#include "engine/decide/in_flight.hpp"

#include <algorithm>

namespace sluice::decide {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;
constexpr std::size_t kProbes = 4;

// Counts one more check in `slot` and returns how many it has, or 0 if the slot has another owner.
std::size_t add(std::atomic<std::uint64_t>& slot, std::uint32_t owner) {
  std::uint64_t seen = slot.load(kRelaxed);
  for (;;) {
    const auto count = static_cast<std::uint32_t>(seen);
    if (count > 0 && seen >> 32 != owner) return 0;
    const std::uint64_t next = std::uint64_t{owner} << 32 | (count + 1);
    if (slot.compare_exchange_weak(seen, next, kRelaxed)) return std::size_t{count} + 1;
  }
}

// Returns whether it was the last one.
bool remove(std::atomic<std::uint64_t>& slot) { return static_cast<std::uint32_t>(slot.fetch_sub(1, kRelaxed)) == 1; }

// There may always be one more sharer soon.
std::size_t share_of(std::size_t places, std::size_t sharers) {
  return std::max<std::size_t>(places / std::max<std::size_t>(sharers, 2), 1);
}

}  // namespace

InFlight::Claim InFlight::claim(Place& place, const Caller& caller) {
  std::size_t by_tenant = 0;
  std::size_t by_key = 0;
  for (std::size_t probe = 0; by_tenant == 0 && probe < kProbes; ++probe) {
    place.tenant_ = &tenants_[(caller.tenant + probe) % kTenants];
    by_tenant = add(place.tenant_->slot, static_cast<std::uint32_t>(caller.tenant >> 32));
  }
  if (by_tenant == 0) {
    place.tenant_ = nullptr;
    return Claim::granted;
  }
  if (by_tenant == 1) active_.fetch_add(1, kRelaxed);

  const std::uint64_t hash = (caller.tenant ^ caller.key) * 0x9e3779b97f4a7c15;
  for (std::size_t probe = 0; by_key == 0 && probe < kProbes; ++probe) {
    place.key_ = &keys_[((hash >> 16) + probe) % kKeys];
    by_key = add(*place.key_, static_cast<std::uint32_t>(hash >> 32));
  }
  if (by_key == 0) place.key_ = nullptr;
  if (by_key == 1) place.tenant_->keys.fetch_add(1, kRelaxed);

  const std::size_t reserve = limit_ / 8;
  const std::size_t count = count_.load(kRelaxed);
  if (count <= limit_ - 2 * reserve) return Claim::granted;
  const std::size_t tenant_share = caller.only_tenant ? limit_ : share_of(limit_, active_.load(kRelaxed));
  if (by_tenant > tenant_share && count > limit_ - reserve) return Claim::tenant_share;
  if (caller.only_key) return Claim::granted;
  const std::size_t key_share = share_of(tenant_share, place.tenant_->keys.load(kRelaxed));
  return by_key > key_share ? Claim::key_share : Claim::granted;
}

void InFlight::leave(Place& place) noexcept {
  count_.fetch_sub(1, kRelaxed);
  Tenant* const tenant = std::exchange(place.tenant_, nullptr);
  if (tenant == nullptr) return;
  Slot* const key = std::exchange(place.key_, nullptr);
  if (key != nullptr && remove(*key)) tenant->keys.fetch_sub(1, kRelaxed);
  if (remove(tenant->slot)) active_.fetch_sub(1, kRelaxed);
}

}  // namespace sluice::decide
