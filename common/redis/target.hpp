// What a Redis URL names: one Redis, a primary that Redis Sentinels watch, or a Redis Cluster.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.hpp"
#include "common/net/address.hpp"

namespace sluice::redis {

struct HostPort {
  std::string host;  // a name, an IPv4 address, or an IPv6 address without brackets
  std::uint16_t port = 0;
  bool operator==(const HostPort&) const = default;
};
std::string to_string(const HostPort& address);  // HOST:PORT, [IPV6]:PORT

// Whether `text` has 1 to 255 characters: letters, digits, '-', '.', '_', and ':' (for IPv6 addresses).
bool is_host(std::string_view text);

struct Target {
  using Transport = net::Address::Transport;

  Transport transport = Transport::tcp;
  std::string host = "127.0.0.1";
  std::uint16_t port = 6379;
  std::string path;  // for Transport::unix_socket
  std::string user;  // ACL user; "" is the default user
  std::string password;
  std::uint32_t database = 0;
  // If `sentinels` or `cluster` names hosts, `host` and `port` have no meaning.
  std::vector<HostPort> sentinels;
  std::string primary_name;       // what the sentinels call the primary: "mymaster"
  std::vector<HostPort> cluster;  // some nodes of a Redis Cluster; they name the others
  bool in_cluster = false;        // `host` and `port` name one node of a Cluster

  net::Address address() const { return {transport, host, port, path}; }
};

// Reads `redis://[user:pass@]host[:port][/db]`, `redis+sentinel://[user:pass@]host[:port],host,host/name[/db]`,
// `redis+cluster://[user:pass@]host[:port],host,host` and `unix:PATH[?db=N]`. With `rediss` instead of `redis`: TLS.
// Error: `invalid_url`.
Result<Target> parse_target(std::string_view url);
std::string to_string(const Target& target);  // without the password

// The target for one node of `cluster`, with the login of `cluster`.
Target node_of(const Target& cluster, const HostPort& address);

}  // namespace sluice::redis
