#include "tests/simulator/balancer/relay.hpp"

#include <algorithm>
#include <cctype>
#include <utility>

#include <boost/asio/buffer.hpp>

namespace sluice::sync_test {
namespace {

constexpr std::size_t kBytes = 65'536;
constexpr std::size_t kMostOfHead = 8'192;
constexpr std::string_view kHeader = "\r\nsluice-agent:";

// Of the one thread: thousands of connections that mostly wait need no buffers of their own.
std::array<char, kBytes> shared_buffer;

bool would_block(boost::system::error_code error) {
  return error == boost::asio::error::would_block || error == boost::asio::error::try_again;
}

}  // namespace

Relay::Relay(Socket client, Hooks hooks)
    : hooks_(std::move(hooks)), sides_{Side(std::move(client)), Side(Socket(client.get_executor()))} {
  boost::system::error_code ignored;
  sides_[0].socket.set_option(boost::asio::ip::tcp::no_delay(true), ignored);
}

void Relay::connected(Socket server, std::string backend) {
  if (closed_) return;
  sides_[1].socket = std::move(server);
  backend_ = std::move(backend);
  boost::system::error_code error;
  sides_[1].socket.set_option(boost::asio::ip::tcp::no_delay(true), error);
  for (Side& side : sides_) side.socket.non_blocking(true, error);
  pump(0);
  pump(1);
}

void Relay::hold() { held_ = true; }

void Relay::go_on() {
  if (!std::exchange(held_, false) || backend_.empty()) return;
  pump(0);
  pump(1);
}

void Relay::close() {
  if (std::exchange(closed_, true)) return;
  const auto self = shared_from_this();
  boost::system::error_code ignored;
  for (Side& side : sides_) side.socket.close(ignored);
  hooks_.closed(*this);
}

void Relay::pump(std::size_t from) {
  if (closed_ || held_ || sides_[from].waiting) return;
  if (sides_[from].unsent.empty()) return await(from, Socket::wait_read, from);
  if (send(from)) pump(from);
}

void Relay::await(std::size_t side, Socket::wait_type what, std::size_t from) {
  sides_[from].waiting = true;
  sides_[side].socket.async_wait(what, [self = shared_from_this(), from, what](boost::system::error_code error) {
    self->sides_[from].waiting = false;
    if (self->closed_) return;
    if (error) return self->close();
    if (self->held_) return;  // go_on() begins here again
    if (what == Socket::wait_read) return self->move(from);
    self->pump(from);
  });
}

void Relay::move(std::size_t from) {
  boost::system::error_code error;
  Side& side = sides_[from];
  const std::size_t size = side.socket.read_some(boost::asio::buffer(shared_buffer), error);
  if (would_block(error)) return pump(from);
  if (error) return close();
  const std::string_view bytes(shared_buffer.data(), size);
  if (from == 0 && !named_) look_for_name(bytes);
  if (closed_) return;
  side.unsent.assign(bytes);
  if (held_) return;  // by its name
  if (send(from)) pump(from);
}

// Whether all of it is gone; else it waits for the other side, or the connection is closed.
bool Relay::send(std::size_t from) {
  Side& side = sides_[from];
  boost::system::error_code error;
  const std::size_t size = sides_[1 - from].socket.write_some(boost::asio::buffer(side.unsent), error);
  if (error && !would_block(error)) {
    close();
    return false;
  }
  side.unsent.erase(0, size);
  if (side.unsent.empty()) return true;
  await(1 - from, Socket::wait_write, from);
  return false;
}

void Relay::look_for_name(std::string_view bytes) {
  seen_.append(bytes.substr(0, kMostOfHead));
  std::string lower = seen_;
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const std::size_t end = lower.find("\r\n\r\n");
  if (end == std::string::npos && seen_.size() < kMostOfHead) return;
  named_ = true;
  const std::size_t found = lower.find(kHeader);
  if (found < end) {
    const std::size_t begin = seen_.find_first_not_of(' ', found + kHeader.size());
    agent_ = seen_.substr(begin, seen_.find('\r', begin) - begin);
    hooks_.named(*this);
  }
  seen_ = {};
}

}  // namespace sluice::sync_test
