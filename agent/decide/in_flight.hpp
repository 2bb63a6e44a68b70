// Limits how many checks are in flight (--max-in-flight), for all workers together.
//
// Thread safety: any thread. A Place belongs to one check and its thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <optional>
#include <utility>

namespace sluice::agent::decide {

class InFlight {
 public:
  // One check's place among those in flight. InFlight outlives all its places.
  class Place {
   public:
    Place() = default;
    Place(Place&& other) noexcept : in_flight_(std::exchange(other.in_flight_, nullptr)) {}
    Place& operator=(Place&& other) noexcept {
      std::swap(in_flight_, other.in_flight_);
      return *this;
    }
    ~Place() { leave(); }

    void leave() noexcept {
      if (InFlight* owner = std::exchange(in_flight_, nullptr)) owner->count_.fetch_sub(1, std::memory_order_relaxed);
    }

   private:
    friend class InFlight;
    explicit Place(InFlight& in_flight) : in_flight_(&in_flight) {}

    InFlight* in_flight_ = nullptr;
  };

  explicit InFlight(std::size_t limit) : limit_(limit) {}

  // Returns nullopt if all places are taken. Counts before it compares, so that two workers cannot both take the last
  // free place.
  std::optional<Place> enter() {
    const std::size_t before = count_.fetch_add(1, std::memory_order_relaxed);
    Place place(*this);
    if (before >= limit_) return std::nullopt;
    return place;
  }

  std::size_t count() const { return count_.load(std::memory_order_relaxed); }

 private:
  const std::size_t limit_;
  std::atomic<std::size_t> count_{0};
};

}  // namespace sluice::agent::decide
