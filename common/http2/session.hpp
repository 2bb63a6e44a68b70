// The server's side of one HTTP/2 connection without I/O: bytes in, events out; replies in, bytes out. nghttp2 reads
// and writes the frames. This class bounds what a client can make the server do (limits.hpp).
//
// An event may call any function of a Stream, but neither feed() nor pull().
// Thread safety: none. Memory: if an allocation fails for a request, its stream is reset. If nghttp2 finds no memory,
// the session is broken, and its connection closes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <nghttp2/nghttp2.h>
#include <boost/intrusive/list.hpp>

#include "common/base/pool.hpp"
#include "common/http2/block_pool.hpp"
#include "common/http2/flood_guard.hpp"
#include "common/http2/limits.hpp"
#include "common/http2/stream.hpp"

namespace sluice::http2 {

// Receives requests. One for all sessions of a server.
class Handler {
 public:
  // The header fields of a request are complete. on_data() and on_end() of the stream's listener follow.
  virtual void on_request(Stream& stream) = 0;
  virtual void on_tick() {}  // every 250 ms while the server has connections

 protected:
  ~Handler() = default;
};

// What the sessions of a server use again.
struct SessionMemory {
  Pool<Stream> streams;
  BlockPool blocks;
};

class Session {
 public:
  class Owner {
   public:
    virtual void output_ready() noexcept = 0;  // pull() has more to give

   protected:
    ~Owner() = default;
  };

  // All references outlive the session. `peer`: the client's address.
  Session(const SessionLimits& limits, Handler& handler, SessionMemory& memory, Owner& owner, std::string peer);
  ~Session();
  Session(const Session&) = delete;

  // Handles bytes of the client. Returns false if the session is broken. Throws nothing.
  bool feed(std::span<const char> bytes);
  // Appends frames to `out` until it has at least `enough` bytes or nothing waits. Returns false if the session is
  // broken.
  bool pull(std::string& out, std::size_t enough);
  // Everything was said: close the connection once the output is sent.
  bool finished() const;

  void tick();            // every 250 ms
  void announce_drain();  // asks the client for no further requests; those that are under way to here are handled
  void drain();           // refuses further requests; finished() once the others are answered
  void ping();
  void close();  // tells all streams that they are closed

  bool greeted() const { return greeted_; }           // the client's first SETTINGS have arrived
  bool in_header_block() const { return in_block_; }  // a header block has begun and not ended
  std::size_t open_streams() const { return open_streams_; }
  std::size_t waiting_bytes() const { return waiting_bytes_; }  // of bodies of replies
  std::uint64_t floods() const { return floods_; }              // 1 if the session was ended by a flood, else 0
  std::uint64_t requests() const { return requests_; }
  std::string_view peer() const { return peer_; }

 private:
  friend class Stream;
  struct Callbacks;

  void flooded();
  bool broken(int result);
  void begin_stream(std::int32_t id);
  void count_block_bytes(const nghttp2_frame_hd& frame);
  void add_header(Stream& stream, std::string_view name, std::string_view value);
  void begin_request(Stream& stream, bool ends);
  void end_request(Stream& stream);
  void end_stream(Stream& stream);
  void release(Stream& stream);
  void submit_response(Stream& stream, std::span<const Field> headers, bool end);
  void resume(Stream& stream);
  void submit_trailers(Stream& stream);
  std::int64_t read_output(Stream& stream, std::uint8_t* space, std::size_t size, std::uint32_t& flags);

  const SessionLimits& limits_;
  Handler& handler_;
  SessionMemory& memory_;
  Owner& owner_;
  const std::string peer_;
  FloodGuard guard_;
  nghttp2_session* session_ = nullptr;
  boost::intrusive::list<Stream> streams_;
  std::size_t open_streams_ = 0;
  std::size_t waiting_bytes_ = 0;
  std::size_t block_bytes_ = 0;  // of the header block that is read
  std::uint32_t block_frames_ = 0;
  std::uint64_t floods_ = 0;
  std::uint64_t requests_ = 0;
  bool greeted_ = false;
  bool in_block_ = false;
  bool broken_ = false;
  bool ending_ = false;  // GOAWAY ends the session; input is ignored
};

}  // namespace sluice::http2
