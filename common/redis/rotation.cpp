#include "common/redis/rotation.hpp"

#include <utility>

#include <fmt/core.h>

namespace sluice::redis {

void Rotation::begin(const Options& options) {
  stop();
  options_ = options;
  backoff_.emplace(options.backoff_first, options.backoff_max);
  reported_.clear();
  connect();
}

void Rotation::stop() {
  drop();
  ++wait_;
  timer_.cancel();
}

Rotation::Successor Rotation::take() {
  Successor successor{std::exchange(connection_, nullptr), *std::exchange(info_, std::nullopt)};
  stop();
  return successor;
}

void Rotation::connect() {
  connection_ = std::make_shared<Connection>(context_, options_, static_cast<Connection::Owner&>(*this), attempts_++);
  connection_->open();
  wait(options_.connect_timeout, &Rotation::timed_out);
}

void Rotation::drop() {
  if (connection_ != nullptr) connection_->close();
  connection_.reset();
  info_.reset();
}

void Rotation::on_ready(ServerInfo info) {
  if (Result<> checked = owner_.check(info); !checked) return failed(checked.error());
  ++wait_;
  timer_.cancel();
  info.address = to_string(options_.target);
  info_ = std::move(info);
  owner_.on_successor();
}

void Rotation::on_bytes(std::string_view) {
  failed({"protocol", fmt::format("{}: the server sent a reply without a command", to_string(options_.target))});
}

void Rotation::timed_out() {
  failed({"timeout", fmt::format("{}: not connected within {} ms ({})", to_string(options_.target),
                                 options_.connect_timeout.count(), connection_->stage())});
}

void Rotation::failed(const Error& why) {
  drop();
  wait(backoff_->next(owner_.random()), &Rotation::connect);
  const Clock::time_point now = Clock::now();
  const bool report = why.code != reported_ || now - reported_at_ >= kRepeat;
  if (report) {
    reported_ = why.code;
    reported_at_ = now;
  }
  owner_.on_rotation_failed(why, report);
}

void Rotation::wait(Clock::duration duration, void (Rotation::*then)()) {
  timer_.expires_after(duration);
  timer_.async_wait([weak = weak_from_this(), then, wait = ++wait_](const boost::system::error_code& error) {
    const auto self = weak.lock();
    if (!error && self && wait == self->wait_) (self.get()->*then)();
  });
}

}  // namespace sluice::redis
