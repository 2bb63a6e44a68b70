#include "common/http/connection_host.hpp"

#include <algorithm>

namespace sluice::http {
namespace {

// Rounds up, and adds one for the current tick, so that no time-out comes early.
Ticks in_ticks(std::chrono::milliseconds timeout) {
  constexpr std::chrono::milliseconds kTick = ConnectionHost::kTick;
  const auto ticks = (std::max(timeout, std::chrono::milliseconds(0)) + kTick - std::chrono::milliseconds(1)) / kTick;
  constexpr std::int64_t kLongest = 1 << 30;  // deadlines are compared modulo 2^32
  return static_cast<Ticks>(std::min<std::int64_t>(ticks, kLongest)) + 1;
}

}  // namespace

ConnectionHost::ConnectionHost(ServerOptions options, Handler& handler)
    : options_(options),
      timeouts_{.handshake = in_ticks(options.handshake_timeout),
                .header = in_ticks(options.header_timeout),
                .body = in_ticks(options.body_timeout),
                .idle = in_ticks(options.idle_timeout),
                .write = in_ticks(options.write_timeout)},
      handler_(handler) {}

ConnectionHost::~ConnectionHost() = default;

void ConnectionHost::add(Connection& connection) {
  connection.retain();
  if (connections_.empty()) first_opened();
  connections_.push_back(connection);
  ++stats_.accepted;
  ++stats_.open_connections;
  connection.start();
  if (draining_) connection.drain();
}

// Releases the list's reference. REQUIRES: the caller holds another reference.
void ConnectionHost::detach(Connection& connection) {
  connections_.erase(connections_.iterator_to(connection));
  --stats_.open_connections;
  if (connections_.empty()) last_closed();
  connection.release();
}

void ConnectionHost::mark_dirty(Connection& connection) {
  if (connection.dirty_) return;
  if (dirty_.empty()) wake();
  dirty_.emplace_back(&connection);
  connection.dirty_ = true;
}

void ConnectionHost::resume_dirty() {
  resuming_.swap(dirty_);
  for (const auto& connection : resuming_) {
    connection->dirty_ = false;
    connection->resume();
  }
  resuming_.clear();
}

void ConnectionHost::sweep() {
  ++tick_;
  for (auto it = connections_.begin(); it != connections_.end();) {
    const boost::intrusive_ptr<Connection> connection(&*it++);  // tick() may remove it from the list
    connection->tick();
  }
}

void ConnectionHost::drain() {
  draining_ = true;
  for (auto it = connections_.begin(); it != connections_.end();) {
    const boost::intrusive_ptr<Connection> connection(&*it++);
    connection->drain();
  }
}

void ConnectionHost::close_all() {
  shut_ = true;
  while (!connections_.empty()) {
    const boost::intrusive_ptr<Connection> connection(&connections_.front());
    connection->close();
  }
  // Breaks a reference cycle: the connections in dirty_ hold this host.
  dirty_.clear();
}

}  // namespace sluice::http
