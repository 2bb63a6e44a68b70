// IP addresses and CIDR blocks. Policies match the dimension source_ip against them.
//
// Thread safety: pure functions, which do not allocate.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string_view>

namespace sluice {

// An IPv4 or IPv6 address. parse_ip turns an IPv4-mapped IPv6 address (::ffff:10.0.0.7) into the IPv4 address.
struct IpAddress {
  std::uint8_t bits = 0;                 // 32 or 128
  std::array<std::uint8_t, 16> bytes{};  // network order; IPv4 uses the first four, the others are 0

  auto operator<=>(const IpAddress&) const = default;
};

// All addresses that begin with the first `prefix` bits of `base`. The other bits of `base` are 0.
struct IpBlock {
  IpAddress base;
  std::uint8_t prefix = 0;  // 0 … base.bits

  bool contains(const IpAddress& address) const;
  auto operator<=>(const IpBlock&) const = default;
};

// Reads "10.0.0.7" or "2001:db8::1". Returns nullopt for any other text, and for an address with a port or a zone, or
// with leading zeros in IPv4.
std::optional<IpAddress> parse_ip(std::string_view text);

// Reads "10.0.0.0/8". Bits after the prefix are cleared, so "10.1.2.3/8" gives the same block.
std::optional<IpBlock> parse_cidr(std::string_view text);

// The block of all addresses that share the first `prefix` bits of `address`. REQUIRES: prefix ≤ address.bits.
IpBlock block_of(const IpAddress& address, std::uint8_t prefix);

}  // namespace sluice
