// Addresses and CIDR blocks, as source_ip is matched by them. Pure; nothing allocates.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string_view>

namespace sluice {

// IPv4 or IPv6. An IPv4 address in IPv6's clothes (::ffff:10.0.0.7) is the IPv4 address.
struct IpAddress {
  std::uint8_t bits = 0;                 // 32 or 128
  std::array<std::uint8_t, 16> bytes{};  // network order; of IPv4 the first four, the rest 0

  auto operator<=>(const IpAddress&) const = default;
};

// The addresses whose first `prefix` bits are those of `base`; the bits behind them are 0.
struct IpBlock {
  IpAddress base;
  std::uint8_t prefix = 0;  // 0 … base.bits

  bool contains(const IpAddress& address) const;
  auto operator<=>(const IpBlock&) const = default;
};

// "10.0.0.7", "2001:db8::1"; nothing for anything else (a port, a zone, leading zeros).
std::optional<IpAddress> parse_ip(std::string_view text);

// "10.0.0.0/8"; bits set behind the prefix are dropped, so that 10.1.2.3/8 is the same block.
std::optional<IpBlock> parse_cidr(std::string_view text);

// The block of the first `prefix` bits of an address. REQUIRES: prefix ≤ address.bits.
IpBlock block_of(const IpAddress& address, std::uint8_t prefix);

}  // namespace sluice
