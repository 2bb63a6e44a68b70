// Limits how many checks are held at the same time (--max-waiting), for all workers together. Tenants and API keys have
// shares of the places, as they have of the checks in flight. One counter has at most kMostOfCounter.
//
// Thread safety: any thread. A Place belongs to one check and its thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <utility>

#include <boost/unordered/unordered_flat_map.hpp>

#include "engine/decide/in_flight.hpp"

namespace sluice::decide {

class WaitingPlaces {
 public:
  static constexpr std::uint32_t kMostOfCounter = 100;

  // WaitingPlaces outlives all its places.
  class Place {
   public:
    Place() = default;
    Place(Place&& other) noexcept
        : owner_(std::exchange(other.owner_, nullptr)), counter_(other.counter_), share_(std::move(other.share_)) {}
    Place& operator=(Place&& other) noexcept {
      std::swap(owner_, other.owner_);
      std::swap(counter_, other.counter_);
      share_ = std::move(other.share_);
      return *this;
    }
    ~Place() { leave(); }

    void leave() noexcept {
      if (WaitingPlaces* owner = std::exchange(owner_, nullptr)) owner->leave(counter_);
      share_.leave();
    }

   private:
    friend class WaitingPlaces;
    Place(WaitingPlaces& owner, std::uint64_t counter, InFlight::Place share)
        : owner_(&owner), counter_(counter), share_(std::move(share)) {}

    WaitingPlaces* owner_ = nullptr;
    std::uint64_t counter_ = 0;
    InFlight::Place share_;
  };

  explicit WaitingPlaces(std::size_t limit) : places_(limit) {}

  // Returns nullopt if there is no place for this caller or for this counter. `counter`: a hash of the counter's keys.
  std::optional<Place> enter(const InFlight::Caller& caller, std::uint64_t counter);

  std::size_t count() const { return places_.count(); }

 private:
  void leave(std::uint64_t counter) noexcept;

  InFlight places_;
  std::mutex mutex_;  // guards by_counter_
  boost::unordered_flat_map<std::uint64_t, std::uint32_t> by_counter_;
};

}  // namespace sluice::decide
