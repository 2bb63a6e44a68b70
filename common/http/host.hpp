// What the connections of one server share, whatever their protocol. Time is counted in calls of sweep(), one per tick,
// and not read from a clock. So clients do not all time out when a stopped process continues.
//
// A connection C is an element of a boost::intrusive::list, counts its references (retain(), release()), has the
// functions start(), resume(), tick(), drain() and close(), and a member `dirty_` (DirtyHook) that Host<C> may change.
// Memory: if an allocation fails, the host stays whole; sweep() makes good that resume_dirty() was not called.
// Thread safety: none; a Host belongs to its server's thread.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <new>

#include <boost/intrusive/list.hpp>
#include <boost/intrusive/slist.hpp>
#include <boost/smart_ptr/intrusive_ptr.hpp>

#include "common/http/server.hpp"

namespace sluice::http {

using Ticks = std::uint32_t;  // of 250 ms

enum class IoResult : std::uint8_t {
  ok,
  end,        // the peer will send no more
  cancelled,  // by cancel_read()
  failed,
};

inline constexpr std::chrono::milliseconds kTick{250};

// Rounds up, and adds one for the current tick, so that no time-out comes early.
constexpr Ticks in_ticks(std::chrono::milliseconds timeout) {
  const auto ticks = (std::max(timeout, std::chrono::milliseconds(0)) + kTick - std::chrono::milliseconds(1)) / kTick;
  constexpr std::int64_t kLongest = 1 << 30;  // deadlines are compared modulo 2^32
  return static_cast<Ticks>(std::min<std::int64_t>(ticks, kLongest)) + 1;
}

// For the list of connections to resume.
using DirtyHook = boost::intrusive::slist_member_hook<>;

// Whether a deadline has come.
constexpr bool is_past(Ticks deadline, Ticks now) { return static_cast<std::int32_t>(now - deadline) >= 0; }

template <class C>
class Host {
 public:
  using Connection = C;

  static constexpr std::chrono::milliseconds kTick = http::kTick;
  static constexpr Ticks kLingerTicks = 8;  // 2 s for a client to read the last reply
  // The most bytes that a closing connection reads: many clients send a whole body before they read a refusal.
  static constexpr std::size_t kMaxLinger = std::size_t{32} << 20;

  explicit Host(const ServerOptions& options)
      : options_(options),
        timeouts_{.handshake = in_ticks(options.handshake_timeout),
                  .header = in_ticks(options.header_timeout),
                  .body = in_ticks(options.body_timeout),
                  .idle = in_ticks(options.idle_timeout),
                  .write = in_ticks(options.write_timeout)} {}
  virtual ~Host() = default;
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  bool has_room() const { return !shut_ && stats_.open_connections < options_.max_connections; }
  bool has_room_for_handshake() const { return has_room() && stats_.handshakes < options_.max_handshakes; }

  // REQUIRES: has_room(); the caller holds a reference to `connection`. Throws std::bad_alloc; then nothing is added.
  void add(C& connection) {
    if (connections_.empty()) first_opened();
    connection.retain();
    connections_.push_back(connection);
    ++stats_.accepted;
    ++stats_.open_connections;
    connection.start();
    if (draining_) connection.drain();
  }

  // Counts one tick and checks the time-outs of all connections.
  void sweep() {
    ++tick_;
    if (!woken_) resume_dirty();
    ticked();
    each([](C& connection) { connection.tick(); });
  }

  // Resumes the connections that mark_dirty() collected.
  void resume_dirty() {
    woken_ = false;
    if (resuming_.empty()) resuming_.swap(dirty_);
    while (!resuming_.empty()) take_first(resuming_)->resume();
  }

  void drain() {
    draining_ = true;
    each([](C& connection) { connection.drain(); });
  }

  // After this call has_room() is false.
  void close_all() {
    shut_ = true;
    while (!connections_.empty()) {
      const boost::intrusive_ptr<C> connection(&connections_.front());
      connection->close();
    }
    // Breaks a reference cycle: the connections in dirty_ hold this host.
    while (!dirty_.empty()) take_first(dirty_);
  }

  const ServerOptions& options() const { return options_; }
  ServerStats& stats() { return stats_; }
  bool draining() const { return draining_; }
  bool empty() const { return connections_.empty(); }

 protected:
  struct Timeouts {
    Ticks handshake, header, body, idle, write;
  };

  // Requests one call of resume_dirty(), behind the work that is already queued on the loop.
  virtual void wake() = 0;
  virtual void first_opened() = 0;  // from now on sweep() must be called every kTick
  virtual void last_closed() = 0;
  virtual void ticked() {}

  void mark_dirty(C& connection) noexcept {
    if (connection.dirty_.is_linked()) return;
    connection.retain();
    dirty_.push_back(connection);
    if (woken_) return;
    try {
      wake();
      woken_ = true;
    } catch (const std::bad_alloc&) {  // sweep() comes within kTick
    }
  }

  // Releases the list's reference. REQUIRES: the caller holds another reference.
  void detach(C& connection) {
    connections_.erase(connections_.iterator_to(connection));
    --stats_.open_connections;
    if (connections_.empty()) last_closed();
    connection.release();
  }

  ServerOptions options_;
  Timeouts timeouts_;
  ServerStats stats_;
  Ticks tick_ = 0;

 private:
  using DirtyList =
      boost::intrusive::slist<C, boost::intrusive::member_hook<C, DirtyHook, &C::dirty_>,
                              boost::intrusive::cache_last<true>, boost::intrusive::constant_time_size<false>>;

  // Each element of these lists is a reference.
  static boost::intrusive_ptr<C> take_first(DirtyList& list) {
    C& first = list.front();
    list.pop_front();
    return {&first, false};
  }

  // `visit` may close the connection, which removes it from the list.
  template <class Visit>
  void each(Visit visit) {
    for (auto it = connections_.begin(); it != connections_.end();) {
      const boost::intrusive_ptr<C> connection(&*it++);
      visit(*connection);
    }
  }

  bool draining_ = false;
  bool shut_ = false;  // close_all() was called
  boost::intrusive::list<C, boost::intrusive::constant_time_size<false>> connections_;
  DirtyList dirty_;
  DirtyList resuming_;
  bool woken_ = false;  // resume_dirty() will be called
};

}  // namespace sluice::http
