#include "common/sync/checksum.hpp"

namespace sluice::sync {
namespace {

constexpr std::size_t kLaneBytes = 8;

std::uint64_t lane(const Sha256Digest& hash, std::size_t i) {
  std::uint64_t value = 0;
  for (std::size_t b = kLaneBytes; b-- > 0;) value = value << 8 | hash[i * kLaneBytes + b];
  return value;
}

}  // namespace

Checksum& Checksum::add(const Sha256Digest& hash) {
  for (std::size_t i = 0; i < lanes_.size(); ++i) lanes_[i] += lane(hash, i);
  return *this;
}

Checksum& Checksum::subtract(const Sha256Digest& hash) {
  for (std::size_t i = 0; i < lanes_.size(); ++i) lanes_[i] -= lane(hash, i);
  return *this;
}

std::string Checksum::hex() const {
  Sha256Digest bytes;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::uint8_t>(lanes_[i / kLaneBytes] >> (8 * (i % kLaneBytes)));
  }
  return to_hex(bytes);
}

std::optional<Checksum> Checksum::from_hex(std::string_view text) {
  Sha256Digest bytes;
  if (!sluice::from_hex(text, bytes)) return std::nullopt;
  Checksum sum;
  sum.add(bytes);
  return sum;
}

}  // namespace sluice::sync
