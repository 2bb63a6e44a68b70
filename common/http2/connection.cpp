#include "common/http2/connection.hpp"

#include <new>
#include <utility>

#include "common/http2/connection_host.hpp"

namespace sluice::http2 {
namespace {

// Frames are made as the socket takes them. Until then a reply waits in its stream.
constexpr std::size_t kPull = 64UL * 1024;

}  // namespace

Connection::Connection(SharedHost host, std::string peer)
    : host_(std::move(host)), session_(host_->limits_, host_->handler_, host_->memory_, *this, std::move(peer)) {}

// Runs the work of one event. Without memory for it, the connection closes.
template <class Event>
void Connection::run(Event event) {
  try {
    event();
  } catch (const std::bad_alloc&) {
    busy_ = false;
    close();
  }
}

void Connection::start() {
  run([&] { begin(); });
}

void Connection::on_handshake(IoResult result) {
  run([&] { take_handshake(result); });
}

void Connection::on_read(IoResult result, std::size_t bytes) {
  run([&] { take_read(result, bytes); });
}

void Connection::on_written(IoResult result, std::size_t bytes) {
  run([&] { take_written(result, bytes); });
}

void Connection::resume() {
  run([&] {
    if (!closed_) advance();
  });
}

void Connection::tick() {
  run([&] { take_tick(); });
}

void Connection::begin() {
  heard_at_ = host_->tick_;
  handshaking_ = start_handshake();
  if (handshaking_) {
    reading_ = true;
    ++host_->stats_.handshakes;
    deadline_ = host_->tick_ + host_->timeouts_.handshake;
    return;
  }
  advance();
}

void Connection::end_handshake() {
  if (std::exchange(handshaking_, false)) --host_->stats_.handshakes;
}

void Connection::take_handshake(IoResult result) {
  reading_ = false;
  if (closed_) return release_stream();
  end_handshake();
  if (result != IoResult::ok) {
    if (result != IoResult::end) ++host_->stats_.tls_failures;
    return close();
  }
  heard_at_ = host_->tick_;
  advance();
  if (host_->draining()) drain();
}

void Connection::take_read(IoResult result, std::size_t bytes) {
  reading_ = false;
  if (closed_) return release_stream();
  // A client that closes only its side counts as one that leaves.
  if (result != IoResult::ok) return close();
  if (lingering_) {
    lingered_ += bytes;
    return lingered_ > ConnectionHost::kMaxLinger ? close() : read_more();
  }
  take_input(bytes);
}

void Connection::take_input(std::size_t bytes) {
  heard_at_ = host_->tick_;
  pinged_ = false;
  busy_ = true;
  const std::uint64_t requests = session_.requests();
  session_.feed({host_->input_.data(), bytes});
  host_->stats_.requests += session_.requests() - requests;
  if (session_.in_header_block() && !in_block_) block_since_ = host_->tick_;
  in_block_ = session_.in_header_block();
  busy_ = false;
  if (closed_) return release_stream();
  advance();
}

void Connection::take_written(IoResult result, std::size_t bytes) {
  writing_ = false;
  if (closed_) return release_stream();
  if (result != IoResult::ok) return close();
  out_.consume(bytes);
  if (bytes < writing_bytes_) return wait_to_write();
  advance();
}

void Connection::output_ready() noexcept {
  if (!closed_ && !busy_ && !handshaking_) host_->mark_dirty(*this);
}

void Connection::advance() {
  if (handshaking_) return;
  busy_ = true;
  const bool works = write_output();
  busy_ = false;
  if (!works) return close();
  if (!closed_) settle();
}

// Returns false if the connection is broken.
bool Connection::write_output() {
  while (!writing_) {
    if (out_.empty()) {
      if (!session_.pull(out_.text(), kPull)) return false;
      if (out_.empty()) return true;
    }
    const std::string_view text = out_.next();
    std::size_t sent = 0;
    if (write_now(text, sent) != IoResult::ok) return false;
    out_.consume(sent);
    if (sent < text.size()) wait_to_write();
  }
  return true;
}

void Connection::wait_to_write() {
  const std::string_view text = out_.next();
  writing_bytes_ = text.size();
  write_deadline_ = host_->tick_ + host_->timeouts_.write;
  start_write(text);
  writing_ = true;
}

void Connection::count_waiting(std::size_t bytes) {
  host_->stats_.waiting_output += bytes - std::exchange(counted_waiting_, bytes);  // modulo 2^64
}

void Connection::settle() {
  count_waiting(out_.size() + session_.waiting_bytes());
  if (writing_ && host_->stats_.waiting_output > host_->options().max_waiting_output) {
    ++host_->stats_.slow_readers;
    return close();
  }
  if (!writing_ && session_.finished()) return finish();
  read_more();
}

// Closing a socket with unread input makes the kernel send a TCP reset, which may reach the client before the GOAWAY.
void Connection::finish() {
  if (lingering_) return;
  host_->session_stats_.floods += session_.floods();
  session_.close();
  shut_output();
  lingering_ = true;
  deadline_ = host_->tick_ + ConnectionHost::kLingerTicks;
  read_more();
}

void Connection::read_more() {
  if (reading_) return;
  start_read(host_->input_);
  reading_ = true;
}

void Connection::take_tick() {
  if (closed_) return;
  const Ticks now = host_->tick_;
  if (handshaking_ || lingering_) {
    if (!http::is_past(deadline_, now)) return;
    if (handshaking_) ++host_->stats_.tls_failures;
    return close();
  }
  if (writing_ && http::is_past(write_deadline_, now)) return close();
  tick_session();
}

// When a client that sends nothing must be given up.
Ticks Connection::silence_deadline() const {
  const auto& timeouts = host_->timeouts_;
  if (!session_.greeted()) return heard_at_ + timeouts.header;
  if (in_block_) return block_since_ + timeouts.header;
  if (session_.open_streams() == 0) return heard_at_ + timeouts.idle;
  return heard_at_ + ConnectionHost::kPingAfter + (pinged_ ? ConnectionHost::kPingWait : 0);
}

void Connection::tick_session() {
  const Ticks now = host_->tick_;
  session_.tick();
  if (drain_announced_ && !drained_ && http::is_past(drain_at_, now)) {
    drained_ = true;
    session_.drain();
  }
  if (!http::is_past(silence_deadline(), now)) return;
  if (session_.greeted() && !in_block_ && session_.open_streams() == 0) {
    if (!std::exchange(drained_, true)) return session_.drain();
  } else if (session_.greeted() && !in_block_ && !std::exchange(pinged_, true)) {
    return session_.ping();
  }
  ++host_->session_stats_.timed_out;
  close();
}

// The client first gets a GOAWAY that refuses nothing, because requests may be under way to here.
void Connection::drain() {
  if (closed_ || lingering_ || drain_announced_) return;
  if (handshaking_) return handshake_begun() ? void() : close();
  drain_announced_ = true;
  drain_at_ = host_->tick_ + ConnectionHost::kDrainNotice;
  session_.announce_drain();
}

void Connection::close() {
  if (closed_) return;
  closed_ = true;
  const bool was_busy = std::exchange(busy_, true);
  count_waiting(0);
  end_handshake();
  if (!lingering_) host_->session_stats_.floods += session_.floods();
  session_.close();
  close_stream();
  host_->detach(*this);
  busy_ = was_busy;
  release_stream();
}

void Connection::release_stream() {
  if (reading_ || writing_ || busy_) return;
  destroy_stream();
  out_.release_memory();
}

}  // namespace sluice::http2
