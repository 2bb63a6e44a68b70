// Reads addresses to listen on, and writes addresses of clients.
#pragma once

#include <string>
#include <string_view>

#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>

#include "common/base/error.hpp"

namespace sluice::http {

// Reads "127.0.0.1:8088", "[::1]:8088" or "0.0.0.0:0". Host names are refused: a name may resolve to another interface
// than expected, and a listener there would be a security hole. Error: address_malformed.
Result<boost::asio::ip::tcp::endpoint> parse_address(std::string_view text);

// The canonical text of a client's address. An IPv4-mapped IPv6 address, which a listener on [::] sees for an IPv4
// client, is written as IPv4. The zone of an IPv6 address ("%eth0") is left out.
std::string peer_text(const boost::asio::ip::address& address);

}  // namespace sluice::http
