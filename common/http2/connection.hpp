// One client connection without its socket: a Session, the bytes on their way out, and the time-outs. A driver
// (http::StreamConnection) passes in events and carries out I/O.
//
// Ownership: reference-counted without atomics. The host's lists and each operation in flight hold a reference.
// Invariants: at most one read and one write are in flight. All frames of one read are handled before anything is
// written; replies that come later are written in one posted call for all connections. Memory: if an allocation fails,
// the connection closes, unless it was for one request.
// Thread safety: none; it belongs to its server's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <boost/intrusive/list.hpp>

#include "common/http/host.hpp"
#include "common/http/output.hpp"
#include "common/http2/session.hpp"

namespace sluice::http2 {

using http::IoResult;
using http::Ticks;

class ConnectionHost;

class Connection : public boost::intrusive::list_base_hook<>, private Session::Owner {
 public:
  using SharedHost = std::shared_ptr<ConnectionHost>;

  Connection(SharedHost host, std::string peer);
  Connection(const Connection&) = delete;

  // Events from the driver.
  void start();
  void on_handshake(IoResult result);  // IoResult::end if the peer left before it sent anything
  void on_read(IoResult result, std::size_t bytes);
  void on_written(IoResult result, std::size_t bytes);

  // Events from the host. REQUIRES: the caller holds a reference.
  void resume();  // there is new output
  void tick();
  void drain();  // announces the end, then closes the connection when its requests are answered
  void close();

  void retain() noexcept { ++references_; }
  void release() noexcept {
    if (--references_ == 0) unreferenced();
  }

 protected:
  virtual ~Connection() = default;

 private:
  friend class http::Host<Connection>;

  // Implemented by the driver, as those of http::Connection.
  virtual bool start_handshake() = 0;
  virtual bool handshake_begun() = 0;
  virtual void start_read(std::span<char> space) = 0;
  virtual void start_write(std::string_view text) = 0;
  virtual IoResult write_now(std::string_view text, std::size_t& sent) = 0;
  virtual void cancel_read() = 0;
  virtual bool input_waiting() = 0;
  virtual void shut_output() = 0;
  virtual void close_stream() = 0;
  virtual void destroy_stream() = 0;
  virtual void unreferenced() noexcept = 0;

  template <class Event>
  void run(Event event);
  void begin();
  void take_handshake(IoResult result);
  void take_read(IoResult result, std::size_t bytes);
  void take_written(IoResult result, std::size_t bytes);
  void take_tick();
  void output_ready() noexcept override;
  void read_more();
  void take_input(std::size_t bytes);
  void advance();
  bool write_output();
  void wait_to_write();
  void settle();
  void finish();
  void end_handshake();
  void release_stream();
  void tick_session();
  void count_waiting(std::size_t bytes);
  Ticks silence_deadline() const;

  SharedHost host_;
  Session session_;
  http::Output out_;
  http::DirtyHook dirty_;
  std::size_t writing_bytes_ = 0;
  std::size_t counted_waiting_ = 0;  // this connection's part of ServerStats::waiting_output
  std::size_t lingered_ = 0;         // bytes dropped while lingering
  Ticks deadline_ = 0;               // of the handshake, or of lingering
  Ticks heard_at_ = 0;               // when bytes of the client came last
  Ticks block_since_ = 0;            // when the header block began that is read
  Ticks write_deadline_ = 0;
  Ticks drain_at_ = 0;  // of the announced drain
  std::uint32_t references_ = 0;

  bool handshaking_ = false;  // counts as a read in flight
  bool reading_ = false;
  bool writing_ = false;
  bool busy_ = false;  // advance() follows anyway
  bool lingering_ = false;
  bool in_block_ = false;
  bool pinged_ = false;
  bool drain_announced_ = false;
  bool drained_ = false;
  bool closed_ = false;
};

inline void intrusive_ptr_add_ref(Connection* connection) noexcept { connection->retain(); }
inline void intrusive_ptr_release(Connection* connection) noexcept { connection->release(); }

}  // namespace sluice::http2
