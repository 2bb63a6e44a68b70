// The checksum of a set of objects that does not depend on their order, and is kept up to date by adding what came and
// subtracting what went: the sum of their hashes.
//
// Each SHA-256 counts as four 64-bit little-endian lanes, each added modulo 2^64. (M. Bellare, D. Micciancio, "A New
// Paradigm for Collision-Free Hashing", 1997: AdHash.) It finds mistakes and losses; the server that sends it is
// trusted, so nobody who could search for sums that cancel out is in a position to gain by them.
//
// Thread safety: a value.
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

  // 64 hex digits: of one object, those of its hash; of none, zeros.
  std::string hex() const;
  // Nothing unless `text` is 64 hex digits.
  static std::optional<Checksum> from_hex(std::string_view text);

  bool operator==(const Checksum&) const = default;

 private:
  std::array<std::uint64_t, 4> lanes_{};
};

}  // namespace sluice::sync
