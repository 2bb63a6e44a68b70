// Looks up the addresses of a host, for the sinks that send to another machine.
#pragma once

#include <netdb.h>

#include <cstdint>
#include <expected>
#include <memory>
#include <string>

namespace sluice::line_sinks {

using HostAddresses = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

// `host`: a name, or an IP address without brackets. `socket_type`: SOCK_DGRAM or SOCK_STREAM. A list in order of
// preference, never empty; the error is the resolver's text. May take seconds.
std::expected<HostAddresses, std::string> find_addresses(const std::string& host, std::uint16_t port, int socket_type);

}  // namespace sluice::line_sinks
