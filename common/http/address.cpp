#include "common/http/address.hpp"

#include <charconv>
#include <cstdint>

#include <fmt/core.h>
#include <boost/asio/ip/address.hpp>

namespace sluice::http {
namespace {

namespace ip = boost::asio::ip;

std::unexpected<Error> malformed(std::string_view text, std::string_view why) {
  return failure(
      "address_malformed",
      fmt::format("\"{}\" is not an address to listen on: {}; write 127.0.0.1:8088 or [::1]:8088", text, why));
}

}  // namespace

Result<ip::tcp::endpoint> parse_address(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return malformed(text, "it needs an IP address and a port");
  std::string_view host = text.substr(0, colon);
  const bool bracketed = host.starts_with('[') && host.ends_with(']');
  if (bracketed) host = host.substr(1, host.size() - 2);

  const std::string_view digits = text.substr(colon + 1);
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (error != std::errc() || end != digits.data() + digits.size()) {
    return malformed(text, "the port is a number from 0 to 65535");
  }
  boost::system::error_code ec;
  const ip::address address = ip::make_address(host, ec);
  if (ec) return malformed(text, "the part before the port is not an IP address");
  if (address.is_v6() != bracketed) return malformed(text, "an IPv6 address needs brackets, an IPv4 address has none");
  return ip::tcp::endpoint(address, port);
}

std::string peer_text(const ip::address& address) {
  if (address.is_v4()) return address.to_string();
  ip::address_v6 v6 = address.to_v6();
  if (v6.is_v4_mapped()) return ip::make_address_v4(ip::v4_mapped, v6).to_string();
  v6.scope_id(0);
  return v6.to_string();
}

}  // namespace sluice::http
