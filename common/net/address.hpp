// Where a server listens.
#pragma once

#include <cstdint>
#include <string>

namespace sluice::net {

struct Address {
  enum class Transport : std::uint8_t { tcp, tls, unix_socket };

  Transport transport = Transport::tcp;
  std::string host = {};  // a name, or an IP address without brackets
  std::uint16_t port = 0;
  std::string path = {};  // the file of a Unix socket
};

}  // namespace sluice::net
