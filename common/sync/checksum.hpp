// The checksum of a set of objects: the sum of their hashes. It does not depend on their order, and a change updates it
// by adding and subtracting the hashes of the changed objects.
//
// Each SHA-256 is read as four 64-bit little-endian lanes, which are added modulo 2^64 (AdHash: M. Bellare, D.
// Micciancio, "A New Paradigm for Collision-Free Hashing", 1997). The checksum detects mistakes and losses, not
// attacks: the server that sends it is trusted.
//
// Thread safety: values; any number of threads may read one at the same time.
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

  // 64 hex digits. For one object these are the digits of its hash, for an empty set zeros.
  std::string hex() const;
  // nullopt unless `text` is 64 hex digits.
  static std::optional<Checksum> from_hex(std::string_view text);

  bool operator==(const Checksum&) const = default;

 private:
  std::array<std::uint64_t, 4> lanes_{};
};

}  // namespace sluice::sync
