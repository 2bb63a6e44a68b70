// Reads and writes the URL of a server: http://host[:port], https://host[:port], or unix:PATH.
#pragma once

#include <string>
#include <string_view>

#include "common/base/error.hpp"
#include "common/net/address.hpp"

namespace sluice::http_client {

struct Url : net::Address {};

// The port may be left out. An http or https URL has no path but "/". Error: `url_malformed`. Its text does not quote a
// URL with an '@', which may contain a password.
Result<Url> parse_url(std::string_view url);

// Always with the port.
std::string to_string(const Url& url);

// Without the port if it is the default of the scheme.
std::string host_header(const Url& url);

}  // namespace sluice::http_client
