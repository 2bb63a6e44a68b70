// The API keys that were verified last, so that a caller's next request needs no SHA-256.
//
// A wrong secret still costs one hash, the same as for an id that does not exist, so the time of an answer does not
// tell which ids exist: each look-up compares one whole secret, in constant time, whether it knows the id or not.
//
// The secrets are kept as the callers sent them, in this process only, until another key takes the place or the next
// snapshot comes.
//
// Thread: one worker's.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "common/base/crypto.hpp"
#include "common/domain/credential.hpp"
#include "common/policy/snapshot.hpp"

namespace sluice::decide {

class VerifiedKeys {
 public:
  // Whether add() was called for this key and secret. `key`: nullptr if no key has the id that was presented.
  // REQUIRES: the key's snapshot is the same since the last clear(); `secret` has kSecretDigits characters.
  bool contains(const policy::KeyView* key, std::string_view secret) const {
    const Place& place = places_[place_of(key)];
    const bool same = constant_time_equal(as_bytes(secret), as_bytes({place.secret.data(), place.secret.size()}));
    return key != nullptr && place.key == key && same;
  }
  void add(const policy::KeyView& key, std::string_view secret) {
    Place& place = places_[place_of(&key)];
    place.key = &key;
    std::memcpy(place.secret.data(), secret.data(), place.secret.size());
  }
  // A key of the next snapshot can have the address of one that is gone.
  void clear() { places_ = {}; }

 private:
  static constexpr unsigned kPlaceBits = 6;
  struct Place {
    const policy::KeyView* key = nullptr;
    std::array<char, kSecretDigits> secret{};
  };

  // Each key has one place. The multiplication spreads the addresses of keys.
  static std::size_t place_of(const policy::KeyView* key) {
    return reinterpret_cast<std::uintptr_t>(key) * 0x9E3779B97F4A7C15U >> (64 - kPlaceBits);
  }

  std::array<Place, std::size_t{1} << kPlaceBits> places_{};
};

}  // namespace sluice::decide
