// A gRPC server on one io_context: a Dispatcher over an HTTP/2 server, and a timer for the deadlines of calls.
//
// Thread safety: none; a Server belongs to the thread of its io_context. N workers run N servers on one address
// (SO_REUSEPORT).
#pragma once

#include <functional>
#include <new>
#include <span>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "common/grpc/dispatcher.hpp"
#include "common/http2/limits.hpp"
#include "common/http2/server.hpp"

namespace sluice::grpc {

class Server final : private Alarm {
 public:
  Server(boost::asio::io_context& context, const http::ServerOptions& options, const http2::SessionLimits& limits,
         std::span<Service* const> services, CallObserver& observer, tracing::Tracer* tracer = nullptr)
      : timer_(context), dispatcher_(services, observer, *this, tracer), http_(context, options, limits, dispatcher_) {}

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
  Time now() const override { return std::chrono::steady_clock::now(); }
  bool set(Time at) noexcept override {
    try {
      timer_.expires_at(at);
      timer_.async_wait([this](const boost::system::error_code& stopped) {
        if (!stopped) dispatcher_.on_alarm(now());
      });
      return true;
    } catch (const std::bad_alloc&) {
      return false;
    }
  }

  boost::asio::steady_timer timer_;
  Dispatcher dispatcher_;
  http2::Server http_;
};

}  // namespace sluice::grpc
