// Reads addresses to listen on, and writes addresses of clients.
#pragma once

#include <string>
#include <string_view>

#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>

#include "common/base/error.hpp"

namespace sluice::http {

// "127.0.0.1:8088", "[::1]:8088", "0.0.0.0:0". Names are not resolved: what a name means may differ from what its
// reader believes, and a listener on the wrong interface is a hole. Error: address_malformed.
Result<boost::asio::ip::tcp::endpoint> parse_address(std::string_view text);

// One text for one client: an IPv4 address in IPv6 (what a listener on [::] sees) is written as IPv4, and there is no
// zone.
std::string peer_text(const boost::asio::ip::address& address);

}  // namespace sluice::http
