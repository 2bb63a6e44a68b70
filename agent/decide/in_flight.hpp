// The limit of checks in flight (--max-in-flight), of all workers together.
//
// Thread safety: any thread. A place belongs to one check.
#pragma once

#include <atomic>
#include <cstddef>
#include <optional>
#include <utility>

namespace sluice::agent::decide {

class InFlight {
 public:
  // One check's place. It is left at leave(), else when the object goes. The limit outlives it.
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
      if (InFlight* left = std::exchange(in_flight_, nullptr)) left->count_.fetch_sub(1, std::memory_order_relaxed);
    }

   private:
    friend class InFlight;
    explicit Place(InFlight& in_flight) : in_flight_(&in_flight) {}

    InFlight* in_flight_ = nullptr;
  };

  explicit InFlight(std::size_t most) : most_(most) {}

  // Nothing: all places are taken. A place is counted before it is compared with the limit, because workers that ask at
  // the same time must not all see the last free place.
  std::optional<Place> enter() {
    const std::size_t before = count_.fetch_add(1, std::memory_order_relaxed);
    Place place(*this);
    if (before >= most_) return std::nullopt;
    return place;
  }

  std::size_t count() const { return count_.load(std::memory_order_relaxed); }

 private:
  const std::size_t most_;
  std::atomic<std::size_t> count_{0};
};

}  // namespace sluice::agent::decide
