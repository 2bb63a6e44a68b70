#include "common/line_sinks/host_addresses.hpp"

namespace sluice::line_sinks {

std::expected<HostAddresses, std::string> find_addresses(const std::string& host, std::uint16_t port, int socket_type) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = socket_type;
  addrinfo* list = nullptr;
  const int code = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &list);
  if (code != 0) return std::unexpected(::gai_strerror(code));
  return HostAddresses(list, ::freeaddrinfo);
}

}  // namespace sluice::line_sinks
