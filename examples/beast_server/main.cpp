// An ordinary Boost.Beast server, with limits inside. See README.md.
//
//   beast_server ADDRESS:PORT POLICIES
//
//   GET /orders/{id}   an order
//   GET /report        an answer that takes its time (?ms=N), of which only a few may be made at once
//   GET /healthz       without limits
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/beast/core.hpp>

#include "limiter.hpp"

namespace beast_server {
namespace {

namespace beast = boost::beast;
using tcp = boost::asio::ip::tcp;

constexpr std::chrono::seconds kIdle{60};

struct Route {
  std::string_view pattern;  // "": there is no such path
  bool limited = true;
};

Route route_of(std::string_view path) {
  if (path == "/healthz") return {"/healthz", false};
  if (path == "/report") return {"/report"};
  if (path.starts_with("/orders/") && path.find('/', 8) == std::string_view::npos) return {"/orders/{id}"};
  return {};
}

std::chrono::milliseconds duration_of(std::string_view query) {
  if (!query.starts_with("ms=")) return std::chrono::milliseconds(0);
  long number = 0;
  for (const char digit : query.substr(3)) {
    if (digit < '0' || digit > '9' || number > 60'000) break;
    number = 10 * number + (digit - '0');
  }
  return std::chrono::milliseconds(number);
}

class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(tcp::socket socket, Limiter& limiter)
      : stream_(std::move(socket)), work_(stream_.get_executor()), limiter_(limiter) {}

  void read() {
    request_ = {};
    stream_.expires_after(kIdle);
    http::async_read(stream_, buffer_, request_, beast::bind_front_handler(&Session::on_read, shared_from_this()));
  }

 private:
  void on_read(beast::error_code failed, std::size_t) {
    if (failed) return close();
    const std::string_view target = request_.target();
    const std::string_view path = target.substr(0, target.find('?'));
    const Route route = route_of(path);
    if (route.pattern.empty()) return write(response(http::status::not_found, "no such path\n"));
    if (!route.limited) return write(response(http::status::ok, "ok\n"));
    beast::error_code gone;
    const auto peer = stream_.socket().remote_endpoint(gone);
    if (gone) return close();
    admission_ = limiter_.admit(request_, route.pattern, peer.address());
    if (admission_.denied) return write(std::move(*admission_.denied));
    if (route.pattern != "/report")
      return write(response(http::status::ok, std::string(path.substr(8)) + " is on its way\n"));
    make_report(duration_of(target.substr(std::min(path.size() + 1, target.size()))));
  }

  // While the report is made, the socket is watched: if the caller leaves, the lease ends at once.
  void make_report(std::chrono::milliseconds time) {
    stream_.expires_never();
    stream_.socket().async_wait(tcp::socket::wait_read, [self = shared_from_this()](beast::error_code failed) {
      char byte = 0;
      beast::error_code ended;
      if (failed || !self->making_) return;
      const auto read = self->stream_.socket().receive(boost::asio::buffer(&byte, 1), tcp::socket::message_peek, ended);
      if (read == 0 || ended) self->work_.cancel();
    });
    making_ = true;
    work_.expires_after(time);
    work_.async_wait([self = shared_from_this()](beast::error_code failed) {
      self->making_ = false;
      if (failed) return self->close();
      self->write(self->response(http::status::ok, "a report\n"));
    });
  }

  Response response(http::status status, std::string text) const {
    Response made(status, request_.version());
    made.set(http::field::content_type, "text/plain");
    made.keep_alive(request_.keep_alive());
    add_headers(made, admission_.headers);
    made.body() = std::move(text);
    made.prepare_payload();
    return made;
  }

  void write(Response made) {
    response_ = std::move(made);
    stream_.expires_after(kIdle);
    http::async_write(stream_, response_, beast::bind_front_handler(&Session::on_write, shared_from_this()));
  }

  void on_write(beast::error_code failed, std::size_t) {
    admission_ = {};  // the lease ends
    if (failed || !response_.keep_alive()) return close();
    read();
  }

  void close() {
    admission_ = {};
    beast::error_code ignored;
    stream_.socket().shutdown(tcp::socket::shutdown_both, ignored);
  }

  beast::tcp_stream stream_;
  boost::asio::steady_timer work_;
  Limiter& limiter_;
  beast::flat_buffer buffer_;
  Request request_;
  Response response_;
  Admission admission_;
  bool making_ = false;
};

void accept(tcp::acceptor& acceptor, Limiter& limiter) {
  acceptor.async_accept(boost::asio::make_strand(acceptor.get_executor()),
                        [&acceptor, &limiter](beast::error_code failed, tcp::socket socket) {
                          if (failed == boost::asio::error::operation_aborted) return;
                          if (!failed) std::make_shared<Session>(std::move(socket), limiter)->read();
                          accept(acceptor, limiter);
                        });
}

int serve(const std::string& address, const std::string& policies) {
  auto opened = sluice::v1::Engine::open({.bundle_file = policies});
  if (!opened) {
    std::fprintf(stderr, "beast_server: %s\n", opened.status.message.c_str());
    return 1;
  }
  Limiter limiter(*opened.engine);

  boost::asio::io_context context;
  const std::size_t colon = address.rfind(':');
  const tcp::endpoint endpoint(boost::asio::ip::make_address(address.substr(0, colon)),
                               static_cast<std::uint16_t>(std::stoul(address.substr(colon + 1))));
  tcp::acceptor acceptor(context, endpoint);
  accept(acceptor, limiter);

  boost::asio::signal_set signals(context, SIGTERM, SIGINT, SIGHUP);
  std::function<void()> await_signal = [&] {
    signals.async_wait([&](beast::error_code failed, int number) {
      if (failed) return;
      if (number != SIGHUP) return context.stop();
      const sluice::v1::Status status = opened.engine->reload();
      std::fprintf(stderr, "beast_server: %s\n", status.ok() ? "the policies are read again" : status.message.c_str());
      await_signal();
    });
  };
  await_signal();
  std::printf("beast_server: listening on %s\n", address.c_str());
  std::fflush(stdout);
  std::vector<std::jthread> threads;
  for (int i = 0; i < 2; ++i) threads.emplace_back([&context] { context.run(); });
  return 0;
}

}  // namespace
}  // namespace beast_server

int main(int count, char** words) {
  if (count != 3) {
    std::fprintf(stderr, "beast_server ADDRESS:PORT POLICIES\n");
    return 2;
  }
  try {
    return beast_server::serve(words[1], words[2]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "beast_server: %s: %s\n", words[1], error.what());
    return 1;
  }
}
