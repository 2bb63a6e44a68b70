// A gRPC server on one io_context: a Dispatcher over an HTTP/2 server.
//
// Thread safety: none; a Server belongs to the thread of its io_context. N workers run N servers on one address
// (SO_REUSEPORT).
#pragma once

#include <functional>
#include <span>
#include <utility>

#include <boost/asio/io_context.hpp>

#include "common/grpc/dispatcher.hpp"
#include "common/http2/limits.hpp"
#include "common/http2/server.hpp"

namespace sluice::grpc {

class Server {
 public:
  Server(boost::asio::io_context& context, const http::ServerOptions& options, const http2::SessionLimits& limits,
         std::span<Service* const> services, CallObserver& observer)
      : dispatcher_(services, observer), http_(context, options, limits, dispatcher_) {}

  // For listening and statistics.
  http2::Server& http() { return http_; }
  const http2::Server& http() const { return http_; }

  // As that of http2::Server. Streams are told to end.
  void drain(std::function<void()> drained) {
    http_.drain(std::move(drained));
    dispatcher_.drain();
  }
  void close_all() { http_.close_all(); }

 private:
  Dispatcher dispatcher_;
  http2::Server http_;
};

}  // namespace sluice::grpc
