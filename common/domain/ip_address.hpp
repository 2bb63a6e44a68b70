// IP addresses and CIDR blocks, for the dimension source_ip. Nothing here allocates.
//
// Thread safety: pure functions.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string_view>

namespace sluice {

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

// Reads "10.0.0.7" or "2001:db8::1", without port, zone, or leading zeros in IPv4. Turns an IPv4-mapped IPv6 address
// (::ffff:10.0.0.7) into the IPv4 address.
std::optional<IpAddress> parse_ip(std::string_view text);

// Whether only the machine itself has this address: 127.0.0.0/8 or ::1.
bool is_loopback(const IpAddress& address);

// Finds the address in what a program knows of its peer: "203.0.113.7", "203.0.113.7:51234", "2001:db8::1" or
// "[2001:db8::1]:80", with blanks around it. Returns the part of `text` that parse_ip() reads.
std::optional<std::string_view> find_address(std::string_view text);

// The shortest usual form (RFC 5952), in `buffer`. A block of fewer than all bits of IPv6 ends in "/" and its prefix.
using AddressText = std::array<char, 64>;
std::string_view write_block(const IpBlock& block, AddressText& buffer);

// Reads "10.0.0.0/8". Bits after the prefix are cleared.
std::optional<IpBlock> parse_cidr(std::string_view text);

// REQUIRES: prefix ≤ address.bits.
IpBlock block_of(const IpAddress& address, std::uint8_t prefix);

}  // namespace sluice
