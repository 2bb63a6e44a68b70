// What a URL names: a Redis, how to reach it, and the login to it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/error.hpp"
#include "common/net/address.hpp"

namespace sluice::redis {

struct Target {
  using Transport = net::Address::Transport;

  Transport transport = Transport::tcp;
  std::string host = "127.0.0.1";
  std::uint16_t port = 6379;
  std::string path;  // unix_socket
  std::string user;  // ACL user; "" is the default user
  std::string password;
  std::uint32_t database = 0;

  net::Address address() const { return {transport, host, port, path}; }
};

// Reads redis://[user:pass@]host[:port][/db], rediss://…, unix:PATH[?db=N]. Error: `invalid_url`.
Result<Target> parse_target(std::string_view url);
std::string to_string(const Target& target);  // without the password

}  // namespace sluice::redis
