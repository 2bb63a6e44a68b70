#include "common/http_client/client.hpp"

#include <optional>

#include <fmt/core.h>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include "common/http_client/connection.hpp"
#include "common/http_client/exchange.hpp"

namespace sluice::http_client {

namespace asio = boost::asio;

// A shared_ptr to this object is held while a callback runs, because callbacks can destroy the Client.
class Client::Impl final : public Connection::Owner, public std::enable_shared_from_this<Impl> {
 public:
  Impl(asio::io_context& context, Options options) : context_(context), options_(std::move(options)), timer_(context) {}

  void start(Request request, Done done) {
    exchange_ = std::make_shared<Exchange>(std::move(request), std::move(done), options_.max_head_bytes);
    if (Result<> checked = check_request(exchange_->request()); !checked) {
      asio::post(context_, [self = shared_from_this(), refused = exchange_, error = checked.error()] {
        if (self->exchange_ == refused) self->finish(std::unexpected(self->in_context(error)));
      });
      return;
    }
    exchange_->on_kept_connection = connection_ != nullptr;
    if (connection_) {
      write();
    } else {
      connect();
    }
  }

  void cancel() {
    if (!exchange_) return;
    exchange_.reset();
    stop_timer();
    drop_connection();
  }

  void drop_connection() {
    if (const auto connection = std::exchange(connection_, nullptr)) connection->close();
  }

  bool busy() const { return exchange_ != nullptr; }
  std::uint64_t connects() const { return connects_; }

 private:
  using Clock = std::chrono::steady_clock;

  void connect() {
    ++connects_;
    connection_ = std::make_shared<Connection>(context_, options_, *this, attempt_);
    connection_->open();
    arm(options_.connect_timeout);
  }

  void write() {
    connection_->write(write_request(exchange_->request(), options_));
    arm(options_.head_timeout);
  }

  void on_open() override { write(); }

  void on_sent() override {
    if (exchange_ && !exchange_->in_body()) arm(options_.head_timeout);
  }

  void on_bytes(std::string_view bytes) override {
    const auto self = shared_from_this();
    const auto exchange = exchange_;
    if (!exchange) return drop_connection();  // bytes without a request
    const Result<bool> done = exchange->feed(bytes, [&] { return exchange_ != exchange; });
    if (exchange_ != exchange) return;
    if (!done) {
      drop_connection();
      return finish(std::unexpected(in_context(done.error())));
    }
    if (*done) return complete(bytes.empty());
    const auto own = exchange->request().idle_timeout;
    if (exchange->in_body()) arm(own.count() > 0 ? own : options_.idle_timeout);
  }

  void complete(bool nothing_follows) {
    attempt_ = 0;
    if (!exchange_->keeps_alive() || !nothing_follows || connection_->writing()) drop_connection();
    finish(exchange_->take_response());
  }

  void on_lost(Error error) override {
    const auto self = shared_from_this();
    connection_ = nullptr;
    if (!exchange_) return;
    ++attempt_;
    // The server may have closed an idle connection while the request was on its way.
    if (exchange_->on_kept_connection && !exchange_->begun() && !exchange_->retried && exchange_->repeatable()) {
      exchange_->retried = true;
      return connect();
    }
    finish(std::unexpected(in_context(error)));
  }

  void finish(Result<Response> result) {
    stop_timer();
    const auto finished = std::exchange(exchange_, nullptr);
    finished->finish(std::move(result));
  }

  Error in_context(const Error& error) const {
    const Request& request = exchange_->request();
    return {error.code,
            fmt::format("{} {} of {}: {}", request.method, request.target.substr(0, request.target.find('?')),
                        to_string(options_.server), error.text)};
  }

  // If the timer fires before deadline_, on_timer() waits again. That costs less than a restart of the timer per read.
  void arm(std::chrono::milliseconds limit) {
    deadline_ = Clock::now() + limit;
    if (!waiting_ || deadline_ < timer_.expiry()) wait();
  }

  void wait() {
    waiting_ = true;
    timer_.expires_at(deadline_);
    timer_.async_wait([weak = weak_from_this()](const boost::system::error_code& error) {
      const auto self = weak.lock();
      if (!error && self && self->exchange_) self->on_timer();
    });
  }

  void stop_timer() {
    waiting_ = false;
    timer_.cancel();
  }

  void on_timer() {
    waiting_ = false;
    if (Clock::now() < deadline_) return wait();
    ++attempt_;
    Error error{"timeout", fmt::format("timed out {}", stage())};
    drop_connection();
    finish(std::unexpected(in_context(error)));
  }

  std::string_view stage() const {
    if (exchange_->in_body()) return "in the middle of the body";
    if (connection_->stage() != "open") return connection_->stage();
    return connection_->writing() ? "while sending the request" : "before the response's head was complete";
  }

  asio::io_context& context_;
  const Options options_;
  asio::steady_timer timer_;
  Clock::time_point deadline_;
  bool waiting_ = false;
  unsigned attempt_ = 0;  // failed connections since the last complete response
  std::uint64_t connects_ = 0;
  std::shared_ptr<Connection> connection_;  // being opened, or open
  std::shared_ptr<Exchange> exchange_;
};

Client::Client(asio::io_context& context, Options options)
    : impl_(std::make_shared<Impl>(context, std::move(options))) {}

Client::~Client() {
  impl_->cancel();
  impl_->drop_connection();
}

void Client::send(Request request, Done done) { impl_->start(std::move(request), std::move(done)); }

void Client::cancel() { impl_->cancel(); }

bool Client::busy() const { return impl_->busy(); }

void Client::close_idle() {
  if (!impl_->busy()) impl_->drop_connection();
}

std::uint64_t Client::connects() const { return impl_->connects(); }

}  // namespace sluice::http_client
