// One client connection: everything but the socket.
//
// Thread safety: none; it lives on its server's thread. Drivers (StreamConnection) feed it events and carry out its
// requests for I/O; tests drive it by hand.
// Ownership: reference-counted without atomics. Its host's list, each operation in flight and each unanswered Reply
// hold one reference, so a late Reply finds a connection that is closed and ignores it. Invariants: at most one read
// and one write are in flight. All requests that one read brought are handled before anything is written. Bytes are not
// parsed, and no more are read, while too many requests or replies wait, or the handler is asked whether to read a
// body. Behind a stream nothing is parsed either, but a little is read: that is how its end is noticed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <boost/intrusive/list.hpp>
#include <boost/smart_ptr/intrusive_ptr.hpp>

#include "common/http/output.hpp"
#include "common/http/read_buffer.hpp"
#include "common/http/reply_queue.hpp"
#include "common/http/reply_sink.hpp"
#include "common/http/request_parser.hpp"
#include "common/http/server.hpp"

namespace sluice::http {

class ConnectionHost;

using Ticks = std::uint32_t;  // sweeps of the host's connections; time-outs are counted in them

enum class IoResult : std::uint8_t {
  ok,
  end,        // the peer will send no more
  cancelled,  // by cancel_read()
  failed,     // the connection is of no more use
};

class Connection : public ReplySink, public boost::intrusive::list_base_hook<> {
 public:
  // `peer`: what requests say of where they came from.
  explicit Connection(std::shared_ptr<ConnectionHost> host, std::string peer = {});

  // Events, from the driver.
  void start();
  void on_opened(IoResult result);  // end: the peer left before it said anything
  void on_read(IoResult result, std::size_t bytes);
  void on_written(IoResult result, std::size_t bytes);

  // Events, from the host. REQUIRES: the caller holds a reference.
  void resume();  // replies came from outside the connection's own reads
  void tick();    // checks time-outs
  void drain();   // the host is draining: end as soon as nothing is under way
  void close();   // at once; nothing more is sent

  void answer(std::uint64_t slot, const Response& response) final;
  void read_body(std::uint64_t slot) final;
  bool begin_stream(std::uint64_t slot, const Response& head, StreamEvents& events) final;
  bool stream_open(std::uint64_t slot) const final { return !closed_ && replies_.stream_open(slot); }
  bool write_stream(std::uint64_t slot, std::string_view piece) final;
  void end_stream(std::uint64_t slot, bool whole) final;

  static constexpr std::size_t kMaxWaitingOutput = 256UL * 1024;
  static constexpr std::size_t kMaxWaitingPieces = 64UL * 1024;  // of a stream, while no write is under way

 protected:
  virtual ~Connection() = default;

 private:
  friend class ConnectionHost;

  // What the driver does. start_open(), start_read() and start_write() end in on_opened(), on_read() and on_written(),
  // never before they return.
  virtual bool start_open() { return false; }  // the handshake of a stream that begins with one; false: it does not
  virtual bool open_begun() { return true; }   // the peer has sent some of its part of the handshake
  virtual void start_read(std::span<char> space) = 0;
  virtual void start_write(std::string_view text) = 0;
  // Sends what can be sent without waiting; `sent` may be short with ok.
  virtual IoResult write_now(std::string_view text, std::size_t& sent) = 0;
  virtual void cancel_read() = 0;
  virtual bool input_waiting() = 0;  // bytes have come that no read has taken
  virtual void shut_output() = 0;
  virtual void close_stream() = 0;    // cancels what is in flight
  virtual void destroy_stream() = 0;  // after close_stream(), nothing is in flight

  void end_opening();
  void advance();
  void parse_input();
  bool take_step(RequestParser::Step step);
  void begin_body();
  void handle_request();
  void refuse(const Refusal& refusal);
  void track_phase();
  void write_output();
  void wait_to_write();
  void settle();
  bool settle_flushed();
  void tend_streams();
  void tell_ended();
  bool watches_peer() const;
  void finish();
  void read_more();
  void time_out_read();
  void trim_when_rested();
  bool is_fat() const;
  void trim();
  void release_memory();
  void leave_stream();
  bool must_wait() const;
  bool is_idle() const;
  bool between_requests() const { return input_.empty() && parser_.phase() == RequestParser::Phase::idle; }

  std::shared_ptr<ConnectionHost> host_;
  RequestParser parser_;
  ReadBuffer input_;
  ReplyQueue replies_;
  std::string peer_;
  Output out_;
  std::size_t asked_bytes_ = 0;         // of the write in flight
  std::optional<std::uint64_t> asked_;  // the slot of the request whose body nobody admitted yet
  Ticks read_deadline_ = 0;
  Ticks write_deadline_ = 0;
  RequestParser::Phase timed_ = RequestParser::Phase::idle;  // what read_deadline_ is for

  bool opening_ = false;  // the handshake is under way; it counts as a read in flight
  bool reading_ = false;
  bool writing_ = false;
  bool busy_ = false;       // advance() is on the stack
  bool blocked_ = false;    // too much waits: do not parse, do not read
  bool last_read_ = false;  // a request that closes was parsed: what follows is not ours
  bool rude_end_ = false;   // the client may still be sending: let it read our reply before the reset
  bool hang_up_ = false;
  bool peer_done_ = false;
  bool lingering_ = false;   // our side is shut; what comes is thrown away until the client ends or time is up
  bool cancelling_ = false;  // cancel_read() was called; on_read() will tell
  bool dirty_ = false;       // in the host's list of connections to resume
  bool closed_ = false;
};

}  // namespace sluice::http
