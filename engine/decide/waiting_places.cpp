#include "engine/decide/waiting_places.hpp"

namespace sluice::decide {

std::optional<WaitingPlaces::Place> WaitingPlaces::enter(const InFlight::Caller& caller, std::uint64_t counter) {
  std::optional<InFlight::Place> share = places_.enter();
  if (!share || share->claim(caller) != InFlight::Claim::granted) return std::nullopt;
  const std::lock_guard lock(mutex_);
  std::uint32_t& held = by_counter_[counter];
  if (held == kMostOfCounter) return std::nullopt;
  ++held;
  return Place(*this, counter, *std::move(share));
}

void WaitingPlaces::leave(std::uint64_t counter) noexcept {
  const std::lock_guard lock(mutex_);
  const auto held = by_counter_.find(counter);
  if (--held->second == 0) by_counter_.erase(held);
}

}  // namespace sluice::decide
