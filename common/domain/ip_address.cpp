#include "common/domain/ip_address.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>

namespace sluice {
namespace {

// The first 12 bytes of an IPv4-mapped IPv6 address (RFC 4291, 2.5.5.2).
constexpr std::array<std::uint8_t, 12> kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
constexpr std::uint8_t kMappedBits = 96;

bool is_mapped(const IpAddress& address) {
  return address.bits == 128 && std::equal(kMapped.begin(), kMapped.end(), address.bytes.begin());
}

IpAddress unmapped(const IpAddress& address) {
  IpAddress plain{.bits = 32};
  std::copy(address.bytes.begin() + kMapped.size(), address.bytes.end(), plain.bytes.begin());
  return plain;
}

std::optional<IpAddress> parse_as_written(std::string_view text) {
  std::array<char, INET6_ADDRSTRLEN> terminated{};
  if (text.empty() || text.size() >= terminated.size() || text.find('\0') != std::string_view::npos) {
    return std::nullopt;
  }
  std::ranges::copy(text, terminated.begin());
  IpAddress address;
  if (inet_pton(AF_INET, terminated.data(), address.bytes.data()) == 1) {
    address.bits = 32;
    return address;
  }
  if (inet_pton(AF_INET6, terminated.data(), address.bytes.data()) != 1) return std::nullopt;
  address.bits = 128;
  return address;
}

}  // namespace

bool IpBlock::contains(const IpAddress& address) const {
  return address.bits == base.bits && block_of(address, prefix) == *this;
}

std::optional<IpAddress> parse_ip(std::string_view text) {
  auto address = parse_as_written(text);
  if (address && is_mapped(*address)) return unmapped(*address);
  return address;
}

std::optional<IpBlock> parse_cidr(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const auto address = parse_as_written(text.substr(0, slash));
  const std::string_view length = text.substr(slash + 1);
  std::uint8_t prefix = 0;
  const auto [after, code] = std::from_chars(length.data(), length.data() + length.size(), prefix);
  if (!address || code != std::errc{} || after != length.data() + length.size() || prefix > address->bits) {
    return std::nullopt;
  }
  if (is_mapped(*address) && prefix >= kMappedBits) {
    return block_of(unmapped(*address), static_cast<std::uint8_t>(prefix - kMappedBits));
  }
  return block_of(*address, prefix);
}

IpBlock block_of(const IpAddress& address, std::uint8_t prefix) {
  IpBlock block{address, prefix};
  for (std::size_t i = 0; i < block.base.bytes.size(); ++i) {
    const int kept = std::clamp(prefix - static_cast<int>(8 * i), 0, 8);
    block.base.bytes[i] &= static_cast<std::uint8_t>(0xff00 >> kept);
  }
  return block;
}

}  // namespace sluice
