// What the connections of one server share. Time is counted in calls of sweep(), one per tick, and not read from a
// clock. So clients do not all time out when a stopped process continues.
//
// Thread safety: none; a ConnectionHost belongs to its server's thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <ctime>
#include <string>
#include <string_view>
#include <vector>

#include <boost/intrusive/list.hpp>
#include <boost/smart_ptr/intrusive_ptr.hpp>

#include "common/http/connection.hpp"
#include "common/http/response_writer.hpp"
#include "common/http/server.hpp"

namespace sluice::http {

class ConnectionHost {
 public:
  static constexpr std::chrono::milliseconds kTick{250};
  static constexpr Ticks kLingerTicks = 8;  // 2 s for a client to read the last reply
  // The most bytes that a closing connection reads: many clients send a whole body before they read a refusal.
  static constexpr std::size_t kMaxLinger = std::size_t{32} << 20;
  static constexpr Ticks kTrimTicks = 4;  // after 1 s without a request a connection frees its spare memory

  // The handler must outlive the host's connections.
  ConnectionHost(ServerOptions options, Handler& handler);
  virtual ~ConnectionHost();
  ConnectionHost(const ConnectionHost&) = delete;
  ConnectionHost& operator=(const ConnectionHost&) = delete;

  bool has_room() const { return !shut_ && stats_.open_connections < options_.max_connections; }
  bool has_room_for_handshake() const { return has_room() && stats_.handshakes < options_.max_handshakes; }
  void add(Connection& connection);  // REQUIRES: has_room(); the caller holds a reference to `connection`

  void sweep();         // counts one tick and checks the time-outs of all connections
  void resume_dirty();  // resumes the connections that mark_dirty() collected
  void drain();
  void close_all();  // after this call has_room() is false

  const ServerOptions& options() const { return options_; }
  ServerStats& stats() { return stats_; }
  bool draining() const { return draining_; }
  bool empty() const { return connections_.empty(); }

 protected:
  // Requests one call of resume_dirty(), behind the work that is already queued on the loop.
  virtual void wake() = 0;
  virtual void first_opened() = 0;  // from now on sweep() must be called every kTick
  virtual void last_closed() = 0;
  virtual std::time_t now() { return std::time(nullptr); }

 private:
  friend class Connection;

  void mark_dirty(Connection& connection);
  void detach(Connection& connection);
  std::string_view date() { return date_.at(now()); }

  struct Timeouts {
    Ticks handshake, header, body, idle, write;
  };

  ServerOptions options_;
  Timeouts timeouts_;
  Handler& handler_;
  ServerStats stats_;
  DateLine date_;
  Ticks tick_ = 0;
  bool draining_ = false;
  bool shut_ = false;    // close_all() was called
  std::string scratch_;  // for the bodies of refusals
  boost::intrusive::list<Connection, boost::intrusive::constant_time_size<false>> connections_;
  std::vector<boost::intrusive_ptr<Connection>> dirty_;
  std::vector<boost::intrusive_ptr<Connection>> resuming_;
};

}  // namespace sluice::http
