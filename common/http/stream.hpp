// A reply whose body comes in pieces, as long as both sides want: `Reply::stream()`.
//
// Thread safety: none; the server's thread. On the wire: the chunked transfer coding; with HTTP/1.0, bytes until the
// connection closes. A stream is not idle, however long it says nothing: who writes it sends something now and then
// (a peer that vanished without a word is noticed by a write that does not leave in `write_timeout`). Requests that
// come on the same connection wait until the stream has ended.
#pragma once

#include <cstdint>
#include <string_view>

namespace sluice::http {

class ReplySink;

// Who writes a stream; outlives it. Told by the connection, possibly from inside a call to the Server (close_all),
// never from inside a call to the Stream. May use and destroy any Stream.
class StreamEvents {
 public:
  // There is room again, after a write that was refused.
  virtual void on_room() = 0;
  // The stream has ended without its writer: the peer is gone, does not read, or the server drains (then the body was
  // finished properly) or closes. Told once, and nothing after it.
  virtual void on_ended() = 0;

 protected:
  ~StreamEvents() = default;
};

// The right to write one reply's body. Movable. Destroyed before finish(), it cuts the connection off, so that the
// client sees that the body is not whole (with HTTP/1.0 it cannot see it).
class Stream {
 public:
  Stream() = default;  // not open
  Stream(ReplySink* sink, std::uint64_t slot);
  Stream(Stream&& other) noexcept;
  Stream& operator=(Stream&& other) noexcept;
  ~Stream();

  // False: nothing more can be said: finished, the peer is gone, or there never was a body (HEAD). A stream that is not
  // open from the start tells its StreamEvents nothing.
  bool open() const;

  // The bound that keeps a slow reader from queueing anything: a piece is taken while nothing written before waits for
  // the peer (in this turn of the loop up to 64 KiB may be gathered). False: not taken and not kept; on_room() tells
  // when to come again, with what is newest by then. A piece may have any size; an empty one is nothing.
  bool write(std::string_view piece);

  void finish();  // the body is whole

 private:
  void end(bool whole);

  ReplySink* sink_ = nullptr;
  std::uint64_t slot_ = 0;
};

}  // namespace sluice::http
