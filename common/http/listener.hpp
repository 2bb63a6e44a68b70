// Accepts connections from a listening socket and passes them to a ConnectionHost. Thread safety: none.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <sys/types.h>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include "common/base/error.hpp"
#include "common/http/connection_host.hpp"

namespace sluice::http {

class Listener {
 public:
  virtual ~Listener() = default;
  // First accepts the connections that wait in the kernel's queue, so that a request sent before the stop is answered.
  virtual void stop() = 0;
  virtual std::uint16_t port() const = 0;  // 0 for Unix sockets
};

// Errors: address_in_use, address_not_permitted, listen_failed. The listener speaks TLS unless `certificates` is null,
// and then admits every client unless `clients` names the authorities of those it admits.
Result<std::shared_ptr<Listener>> listen_tcp(boost::asio::io_context& context, std::shared_ptr<ConnectionHost> host,
                                             const boost::asio::ip::tcp::endpoint& endpoint, bool reuse_port,
                                             std::shared_ptr<const Certificates> certificates,
                                             std::shared_ptr<const ClientAuthorities> clients);
Result<std::shared_ptr<Listener>> listen_unix(boost::asio::io_context& context, std::shared_ptr<ConnectionHost> host,
                                              const std::string& path, mode_t mode);

}  // namespace sluice::http
