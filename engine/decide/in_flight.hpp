// Limits how many checks are in flight (--max-in-flight), for all workers together, and keeps tenants and API keys from
// taking all places.
//
// A tenant's share is the limit divided by the number of tenants with checks in flight; a key's share is its tenant's
// share divided by the number of its keys with checks in flight. Who has more than a share borrows idle places: a key
// may take all but the last quarter of the places, a tenant all but the last eighth. So there is a place at once for
// whoever has less than a share.
//
// Tenants and keys with checks in flight are in tables of a fixed size, so nothing is allocated. If a table has no room
// near its hash, a check is not counted there.
//
// Thread safety: any thread. A Place belongs to one check and its thread.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

namespace sluice::decide {

class InFlight {
  // One tenant or key: the upper 32 bits are a hash of its id, the lower ones the number of its checks in flight. A
  // slot without checks is free.
  using Slot = std::atomic<std::uint64_t>;
  struct Tenant {
    Slot slot{0};
    std::atomic<std::uint32_t> keys{0};  // with checks in flight
  };

 public:
  // Who asks. An agent with one tenant, or a tenant with one key, has nobody to leave places for.
  struct Caller {
    std::uint64_t tenant = 0;  // a hash of its id
    std::uint64_t key = 0;     // a hash of its id
    bool only_tenant = false;
    bool only_key = false;
  };
  enum class Claim : std::uint8_t { granted, tenant_share, key_share };

  // One check's place among those in flight. InFlight outlives all its places.
  class Place {
   public:
    Place() = default;
    Place(Place&& other) noexcept
        : in_flight_(std::exchange(other.in_flight_, nullptr)),
          tenant_(std::exchange(other.tenant_, nullptr)),
          key_(std::exchange(other.key_, nullptr)) {}
    Place& operator=(Place&& other) noexcept {
      std::swap(in_flight_, other.in_flight_);
      std::swap(tenant_, other.tenant_);
      std::swap(key_, other.key_);
      return *this;
    }
    ~Place() { leave(); }

    // Says for whom the place is. Unless granted, the check must leave it. REQUIRES: not called before.
    Claim claim(const Caller& caller) {
      if (in_flight_ == nullptr || (caller.only_tenant && caller.only_key)) return Claim::granted;
      return in_flight_->claim(*this, caller);
    }

    explicit operator bool() const { return in_flight_ != nullptr; }  // false: it is none of the places
    void leave() noexcept {
      if (InFlight* owner = std::exchange(in_flight_, nullptr)) owner->leave(*this);
    }

   private:
    friend class InFlight;
    explicit Place(InFlight& in_flight) : in_flight_(&in_flight) {}

    InFlight* in_flight_ = nullptr;
    Tenant* tenant_ = nullptr;  // nullptr if the check is not counted there
    Slot* key_ = nullptr;
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
  static constexpr std::size_t kTenants = 4096;
  static constexpr std::size_t kKeys = 8192;

  Claim claim(Place& place, const Caller& caller);
  void leave(Place& place) noexcept;

  const std::size_t limit_;
  std::atomic<std::size_t> count_{0};
  std::atomic<std::size_t> active_{0};  // tenants with checks in flight
  std::array<Tenant, kTenants> tenants_{};
  std::array<Slot, kKeys> keys_{};
};

}  // namespace sluice::decide
