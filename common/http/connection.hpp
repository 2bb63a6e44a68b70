// One client connection without its socket. A driver (StreamConnection) passes in events and carries out I/O.
//
// Thread safety: none; it belongs to its server's thread.
// Ownership: reference-counted without atomics. The lists of the ConnectionHost, each operation in flight, each
// unanswered Reply and each Stream hold a reference. So a late Reply finds a closed connection, which ignores it.
// Memory: if an allocation fails while a request is handled, that request is answered with 503. If even that needs
// memory that is not there, or if it fails elsewhere, the connection closes; others go on. Invariants: at most one read
// and one write are in flight. All requests of one read are handled before anything is written.
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

#include "common/http/host.hpp"
#include "common/http/output.hpp"
#include "common/http/read_buffer.hpp"
#include "common/http/reply_queue.hpp"
#include "common/http/reply_sink.hpp"
#include "common/http/request_parser.hpp"
#include "common/http/server.hpp"

namespace sluice::http {

class ConnectionHost;

class Connection : public ReplySink, public boost::intrusive::list_base_hook<> {
 public:
  using SharedHost = std::shared_ptr<ConnectionHost>;

  // `peer` becomes Request::peer.
  explicit Connection(SharedHost host, std::string peer = {});

  // Events from the driver.
  void start();
  void on_handshake(IoResult result);  // IoResult::end if the peer left before it sent anything
  void on_read(IoResult result, std::size_t bytes);
  void on_written(IoResult result, std::size_t bytes);

  // Events from the host. REQUIRES: the caller holds a reference.
  void resume();  // there is new work, for example a handler's answer
  void tick();    // checks time-outs
  void drain();   // closes the connection as soon as no request is under way
  void close();

  void answer(std::uint64_t slot, const Response& response) final;
  bool watch_peer(std::uint64_t slot, PeerWatcher& watcher) final;
  void read_body(std::uint64_t slot, std::shared_ptr<void> held, std::size_t limit) final;
  bool begin_stream(std::uint64_t slot, const Response& head, StreamEvents& events) final;
  bool stream_open(std::uint64_t slot) const final { return !closed_ && replies_.stream_open(slot); }
  bool write_stream(std::uint64_t slot, std::string_view piece) final;
  void end_stream(std::uint64_t slot, bool whole) final;

  static constexpr std::size_t kMaxWaitingOutput = 256UL * 1024;  // no request is read while more bytes of replies wait
  // Bytes that may wait to be sent before write_stream() refuses a piece.
  static constexpr std::size_t kMaxWaitingPieces = 64UL * 1024;

 protected:
  virtual ~Connection() = default;

 private:
  friend class Host<Connection>;

  // Implemented by the driver. When a started operation completes, the driver calls on_handshake(), on_read() or
  // on_written(), but never before the start function has returned.
  virtual bool start_handshake() { return false; }  // returns whether the connection has TLS
  virtual bool handshake_begun() { return true; }   // whether the client has sent part of its handshake
  virtual void start_read(std::span<char> space) = 0;
  virtual void start_write(std::string_view text) = 0;
  // Sends as much as possible without waiting, perhaps nothing.
  virtual IoResult write_now(std::string_view text, std::size_t& sent) = 0;
  virtual void cancel_read() = 0;
  virtual bool input_waiting() = 0;
  virtual void shut_output() = 0;
  // In close_stream(), destroy_stream() and release_stream() the stream is the socket, not a streamed reply.
  virtual void close_stream() = 0;    // cancels operations in flight
  virtual void destroy_stream() = 0;  // called once no operation is in flight

  template <class Event>
  void run(Event event);
  void answer_without_memory(std::uint64_t slot);
  void begin();
  void take_handshake(IoResult result);
  void take_read(IoResult result, std::size_t bytes);
  void take_written(IoResult result, std::size_t bytes);
  void take_tick();
  void take_drain();
  void end_handshake();
  void advance();
  void parse_input();
  bool take_step(RequestParser::Step step);
  bool lacks_more_than_a_length() const;
  void begin_body();
  void handle_request();
  void refuse(const Refusal& refusal);
  void track_phase();
  void write_output();
  void wait_to_write();
  std::size_t waiting_output() const { return out_.size() + replies_.waiting_bytes(); }
  void count_waiting(std::size_t bytes);
  void settle();
  bool settle_flushed();
  void serve_streams();
  void notify_ended_streams();
  void notify_peer_left();
  bool watches_peer() const;
  void finish();
  void read_more();
  void time_out_read();
  void trim_when_idle();
  bool holds_spare_memory() const;
  void trim();
  void release_memory();
  void release_stream();
  bool must_wait() const;
  bool is_idle() const;
  bool between_requests() const { return input_.empty() && parser_.phase() == RequestParser::Phase::idle; }

  std::shared_ptr<ConnectionHost> host_;
  RequestParser parser_;
  ReadBuffer input_;
  ReplyQueue replies_;
  std::string peer_;
  Output out_;
  DirtyHook dirty_;
  std::size_t writing_bytes_ = 0;
  std::size_t counted_waiting_ = 0;              // this connection's part of ServerStats::waiting_output
  std::size_t lingered_ = 0;                     // bytes dropped while lingering
  std::optional<std::uint64_t> admission_slot_;  // of an undecided Admission
  Ticks read_deadline_ = 0;
  Ticks write_deadline_ = 0;
  RequestParser::Phase timed_ = RequestParser::Phase::idle;  // the phase that read_deadline_ limits

  bool handshaking_ = false;  // counts as a read in flight
  bool reading_ = false;
  bool writing_ = false;
  bool busy_ = false;           // advance() is on the stack
  bool blocked_ = false;        // must_wait() was true, so nothing is parsed
  bool last_read_ = false;      // the last request was parsed; all bytes after it are ignored
  bool linger_at_end_ = false;  // the client may still be sending
  bool close_after_refusal_ = false;
  bool peer_done_ = false;   // the client has closed its side
  bool lingering_ = false;   // see finish()
  bool cancelling_ = false;  // cancel_read() was called; on_read() follows
  bool closed_ = false;
};

}  // namespace sluice::http
