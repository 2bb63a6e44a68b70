// The checksum of a set of objects: the sum of their hashes, so a change only adds and subtracts hashes.
//
// Each SHA-256 is read as four 64-bit little-endian lanes, which are added modulo 2^64 (AdHash: M. Bellare, D.
// Micciancio, "A New Paradigm for Collision-Free Hashing", 1997). The checksum detects mistakes and losses, not
// attacks: the server that sends it is trusted.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/crypto.hpp"

namespace sluice::sync {

class Checksum {
 public:
  Checksum& add(const Sha256Digest& hash);
  Checksum& subtract(const Sha256Digest& hash);

  // 64 hex digits: zeros for an empty set, the hash itself for one object.
  std::string hex() const;
  // Returns nullopt unless `text` is 64 hex digits.
  static std::optional<Checksum> from_hex(std::string_view text);

  bool operator==(const Checksum&) const = default;

 private:
  std::array<std::uint64_t, 4> lanes_{};
};

}  // namespace sluice::sync
