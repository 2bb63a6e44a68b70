#include "common/http/address.hpp"

#include <charconv>
#include <cstdint>

#include <fmt/format.h>
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
  if (address.is_v6() != bracketed) return malformed(text, "an IPv6 address, and only that, stands in brackets");
  return ip::tcp::endpoint(address, port);
}

}  // namespace sluice::http
