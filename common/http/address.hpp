// Reads addresses to listen on, and writes addresses of clients.
#pragma once

#include <string>
#include <string_view>

#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>

#include "common/base/error.hpp"

namespace sluice::http {

// Reads "127.0.0.1:8088" or "[::1]:8088". Host names are refused, because a name may resolve to an interface that
// should not have a listener. Error: address_malformed.
Result<boost::asio::ip::tcp::endpoint> parse_address(std::string_view text);

// The text of a client's address. An IPv4-mapped IPv6 address is written as IPv4. The zone ("%eth0") is left out.
std::string peer_text(const boost::asio::ip::address& address);

}  // namespace sluice::http
