// The part of Connection for handshake, time-outs, draining, freeing memory and closing.
#include <utility>

#include "common/http/connection.hpp"
#include "common/http/connection_host.hpp"

namespace sluice::http {
namespace {

using Phase = RequestParser::Phase;

constexpr std::size_t kIdleOutput = 4UL * 1024;  // bytes of output memory that an idle connection keeps

constexpr Refusal kHeadTimeout{408, "/problems/timeout", "The request line and headers took too long.", true};
constexpr Refusal kBodyTimeout{408, "/problems/timeout", "The body took too long.", true};

}  // namespace

Connection::Connection(std::shared_ptr<ConnectionHost> host, std::string peer)
    : host_(std::move(host)), parser_(host_->options().max_header_bytes), peer_(std::move(peer)) {
  parser_.request().peer = peer_;
}

void Connection::begin() {
  handshaking_ = start_handshake();
  if (handshaking_) {
    reading_ = true;
    ++host_->stats_.handshakes;
    read_deadline_ = host_->tick_ + host_->timeouts_.handshake;
    return;
  }
  read_deadline_ = host_->tick_ + host_->timeouts_.idle;
  read_more();
}

void Connection::take_handshake(IoResult result) {
  reading_ = false;
  if (closed_) return release_stream();
  end_handshake();
  if (result != IoResult::ok) {
    if (result != IoResult::end) ++host_->stats_.tls_failures;
    return close();
  }
  // During a drain, the client has only until the deadline of the handshake to send its request.
  if (!host_->draining()) read_deadline_ = host_->tick_ + host_->timeouts_.idle;
  read_more();
}

void Connection::end_handshake() {
  if (std::exchange(handshaking_, false)) --host_->stats_.handshakes;
}

void Connection::take_tick() {
  if (closed_) return;
  const auto past = [now = host_->tick_](Ticks deadline) { return is_past(deadline, now); };
  if (handshaking_) {
    if (!past(read_deadline_)) return;
    ++host_->stats_.tls_failures;
    return close();
  }
  if (writing_ && past(write_deadline_)) return close();
  if (lingering_) {
    if (past(read_deadline_)) close();
  } else if (blocked_ || last_read_ || close_after_refusal_ || replies_.closed()) {
    ++read_deadline_;  // while the server does not read, the client cannot be late
    if (replies_.streaming() && out_.empty() && between_requests() && holds_spare_memory()) trim();
  } else if (is_idle()) {
    if (past(read_deadline_)) return close();
    trim_when_idle();
  } else if (timed_ != Phase::idle && past(read_deadline_)) {
    time_out_read();
  }
}

void Connection::trim_when_idle() {
  const Ticks idle_since = read_deadline_ - host_->timeouts_.idle;
  if (!holds_spare_memory() || host_->tick_ - idle_since < ConnectionHost::kTrimTicks) return;
  trim();
}

bool Connection::holds_spare_memory() const {
  return input_.capacity() > ReadBuffer::kIdleSize || out_.capacity() > kIdleOutput;
}

// The read in flight uses the buffer. So the read is cancelled, and then on_read() frees the memory and reads again.
void Connection::trim() {
  if (!reading_ || cancelling_) return;
  cancelling_ = true;
  cancel_read();
}

void Connection::time_out_read() {
  if (parser_.phase() == Phase::skip) {
    close_after_refusal_ = true;
    host_->mark_dirty(*this);
  } else {
    refuse(timed_ == Phase::head ? kHeadTimeout : kBodyTimeout);
  }
}

// Does not close an idle connection at once: cancels its read first, because a request may have arrived just now.
void Connection::take_drain() {
  if (closed_ || lingering_ || busy_) return;
  if (replies_.streams() > 0) return host_->mark_dirty(*this);
  if (handshaking_) return handshake_begun() ? void() : close();
  if (!reading_ || !is_idle()) return settle();
  cancelling_ = true;
  cancel_read();
}

void Connection::close() {
  if (closed_) return;
  closed_ = true;
  count_waiting(0);
  parser_.request().held.reset();
  end_handshake();
  close_stream();
  host_->detach(*this);
  notify_peer_left();
  notify_ended_streams();
  release_stream();
}

void Connection::release_stream() {
  if (reading_ || writing_ || busy_) return;
  destroy_stream();
  release_memory();
}

void Connection::release_memory() {
  if (closed_ || input_.empty()) input_.release_memory();
  if (closed_ || (out_.empty() && between_requests())) {
    out_.release_memory();
    parser_.release_memory();
    replies_.release_memory();
  }
}

}  // namespace sluice::http
