// Addresses to listen on, as people write them.
#pragma once

#include <string_view>

#include <boost/asio/ip/tcp.hpp>

#include "common/base/error.hpp"

namespace sluice::http {

// "127.0.0.1:8088", "[::1]:8088", "0.0.0.0:0". Names are not resolved: what a name means may differ from what its
// reader believes, and a listener on the wrong interface is a hole. Error: address_malformed.
Result<boost::asio::ip::tcp::endpoint> parse_address(std::string_view text);

}  // namespace sluice::http
