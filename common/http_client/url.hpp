// Where a server is: http://host[:port], https://host[:port], or unix:PATH.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/error.hpp"

namespace sluice::http_client {

struct Url {
  enum class Transport : std::uint8_t { tcp, tls, unix_socket };
  Transport transport = Transport::tcp;
  std::string host;        // a name, or an address without brackets; "" with a Unix socket
  std::uint16_t port = 0;  // 80 or 443 where the URL names none
  std::string path;        // of the Unix socket
};

// Error: `url_malformed`; the text repeats the URL (one that holds a password is malformed, and not repeated). A slash
// behind the port is all of a path that is taken.
Result<Url> parse_url(std::string_view url);

// As it was given, with the port.
std::string to_string(const Url& url);

// The value of the Host header: without the scheme's own port.
std::string host_header(const Url& url);

}  // namespace sluice::http_client
