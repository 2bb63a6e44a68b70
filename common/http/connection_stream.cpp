// The part of Connection for replies with a streamed body, and for handlers that watch the peer.
#include <new>

#include "common/http/connection.hpp"
#include "common/http/connection_host.hpp"

namespace sluice::http {

bool Connection::begin_stream(std::uint64_t slot, const Response& head, StreamEvents& events) {
  if (closed_) return false;
  const bool last_closes = host_->draining() && between_requests();
  const bool begun = replies_.begin_stream(slot, head, host_->date(), last_closes, events, out_);
  if (begun) ++host_->stats_.open_streams;
  if (!busy_) host_->mark_dirty(*this);
  return begun;
}

bool Connection::write_stream(std::uint64_t slot, std::string_view piece) {
  if (!stream_open(slot)) return false;
  if (writing_ || !replies_.in_turn(slot) || out_.size() >= kMaxWaitingPieces) {
    replies_.request_on_writable(slot);
    return false;
  }
  replies_.write(slot, piece, out_);
  if (!busy_) host_->mark_dirty(*this);
  return true;
}

void Connection::end_stream(std::uint64_t slot, bool whole) {
  const std::size_t before = replies_.streams();
  replies_.end_stream(slot, whole, out_);
  host_->stats_.open_streams -= before - replies_.streams();
  if (!closed_ && !busy_) host_->mark_dirty(*this);
}

void Connection::serve_streams() {
  if (closed_ || replies_.streams() == 0) return;
  if (host_->draining()) {
    while (StreamEvents* events = replies_.finish_next(out_)) {
      --host_->stats_.open_streams;
      events->on_ended();
    }
    return;
  }
  if (writing_ || !out_.empty()) return;
  if (StreamEvents* events = replies_.take_waiting_stream()) events->on_writable();
}

// The next settle() reads if the connection does not read already.
bool Connection::watch_peer(std::uint64_t slot, PeerWatcher& watcher) {
  if (closed_ || peer_done_ || !replies_.watch(slot, watcher)) return false;
  if (!busy_) host_->mark_dirty(*this);
  return true;
}

// Whether to keep reading during a stream, or while a handler watches the peer. The only purpose is to notice that the
// peer has closed.
bool Connection::watches_peer() const {
  return (replies_.streams() > 0 || replies_.watched()) && !close_after_refusal_ &&
         input_.size() < ReadBuffer::kIdleSize;
}

void Connection::notify_peer_left() {
  while (PeerWatcher* watcher = replies_.take_watcher()) {
    try {
      watcher->on_peer_left();
    } catch (const std::bad_alloc&) {  // it goes on in vain
    }
  }
}

void Connection::notify_ended_streams() {
  while (StreamEvents* events = replies_.abandon_next()) {
    --host_->stats_.open_streams;
    events->on_ended();
  }
}

}  // namespace sluice::http
