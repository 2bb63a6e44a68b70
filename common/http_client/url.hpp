// Reads and writes the URL of a server: http://host[:port], https://host[:port], or unix:PATH.
//
// Thread safety: pure functions.
#pragma once

#include <string>
#include <string_view>

#include "common/base/error.hpp"
#include "common/net/address.hpp"

namespace sluice::http_client {

struct Url : net::Address {};

// Reads a URL. If it names no port, the port is 80 (http) or 443 (https). It must not have a path, except for a single
// slash at its end. Error `url_malformed`: the text of the error quotes the URL, but not a URL with an '@', which may
// contain a password.
Result<Url> parse_url(std::string_view url);

// The URL with its port written out.
std::string to_string(const Url& url);

// The value of the Host header: without the port if it is the default of the scheme.
std::string host_header(const Url& url);

}  // namespace sluice::http_client
