// What a proxy tells of the request that it asks about: who its client is, and what is asked for. Only a trusted proxy
// is believed, because anybody can write these headers.
//
// Thread safety: pure functions. Nothing here allocates, except parse_trusted_proxies() and write_route().
#pragma once

#include <cstddef>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/domain/ip_address.hpp"

namespace sluice::agent::api {

// The peers whose headers are believed.
struct TrustedProxies {
  std::vector<IpBlock> blocks;
  bool unix_socket = false;

  bool contains(const IpAddress& address) const;
};

// Reads a list such as "loopback,unix,10.0.0.0/8,192.0.2.7", or "none". The error completes "the flag …".
std::expected<TrustedProxies, std::string> parse_trusted_proxies(std::string_view list);

// The peer of a connection.
struct Peer {
  std::optional<IpAddress> address;  // nullopt: a Unix socket
  bool trusted = false;
};
// `text`: http::Request::peer.
Peer find_peer(std::string_view text, const TrustedProxies& proxies);

// The address of the client: the right-most address of X-Forwarded-For that is no trusted proxy. Each proxy appends the
// peer that it sees, so everything left of that address may be invented. If all are trusted, it is the left-most one.
// An entry that is not an address ends the search, and the proxy that wrote it counts as the client. nullopt: nobody
// says.
std::optional<IpAddress> client_address(const Peer& peer, std::string_view forwarded_for,
                                        const TrustedProxies& proxies);

struct Target {
  std::string_view host;  // "" if the target names none
  std::string_view path;  // with its query
};
// Splits "/orders?page=2", "https://shop.example/orders" or "*". nullopt if the text is none of them.
std::optional<Target> split_target(std::string_view text);

// "shop.example" of "Shop.Example:8443" (the case is kept), "2001:db8::1" of "[2001:db8::1]:80".
std::string_view host_without_port(std::string_view host);

// A route in its canonical spelling (common/domain/resource.hpp). Offsets into the text that it was appended to.
struct RouteRange {
  std::size_t at = 0;
  std::size_t size = 0;         // of `METHOD:/path`
  std::size_t method_size = 0;  // without the ':'
};
inline constexpr std::size_t kMaxRoute = 256;  // bytes

// The number of bytes that append_route() appends at most.
std::size_t route_bound(std::string_view method, std::string_view path);

// Appends `METHOD:/path`. The method is in capitals, has at most 32 bytes, and '_' for a byte that no method has.
// Bytes outside visible ASCII are percent-encoded. What is beyond kMaxRoute bytes is cut off: a client chooses how long
// its path is, so a long one must not be an error that lets it pass or keeps it out.
RouteRange append_route(std::string_view method, std::string_view path, std::string& out);

}  // namespace sluice::agent::api
