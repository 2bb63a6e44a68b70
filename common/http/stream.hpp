// A reply whose body is sent piece by piece for as long as both sides want: see Reply::stream().
//
// On the wire it is the chunked transfer coding; with HTTP/1.0, bytes until the connection closes. A stream has no idle
// time-out, so its writer should send something regularly: a peer that vanished is only noticed by a write that is not
// sent within `write_timeout`. Further requests on the same connection wait until the stream has ended.
// Thread safety: none; it belongs to the server's thread.
#pragma once

#include <cstdint>
#include <string_view>

namespace sluice::http {

class ReplySink;

// Callbacks to the writer of a stream, which outlives it. The connection may call them inside a call to the Server
// (close_all), but never inside a call to the Stream. They may use and destroy any Stream.
class StreamEvents {
 public:
  // There is room again, after a write that was refused.
  virtual void on_room() = 0;
  // The stream was ended by the other side or the server: the peer is gone or does not read, the server closes, or it
  // drains (then the body was finished properly). Called once, as the last callback.
  virtual void on_ended() = 0;

 protected:
  ~StreamEvents() = default;
};

// The right to write one reply's body. Movable. If it is destroyed before finish(), it closes the connection without
// the end of the body, so that the client notices that the body is incomplete (with HTTP/1.0 a client cannot notice).
class Stream {
 public:
  Stream() = default;  // not open
  Stream(ReplySink* sink, std::uint64_t slot);
  Stream(Stream&& other) noexcept;
  Stream& operator=(Stream&& other) noexcept;
  ~Stream();

  // False: nothing can be written any more. The stream is finished, the peer is gone, or there was no body at all
  // (HEAD). A stream that is not open from the start calls no StreamEvents.
  bool open() const;

  // Sends a piece of any size; an empty one does nothing. A piece is accepted only while no earlier one waits for the
  // peer, so that a slow reader never builds up a queue (within one turn of the loop up to 64 KiB are gathered). False:
  // the piece was dropped; on_room() is called when the next one can be written, which should then be the newest.
  bool write(std::string_view piece);

  void finish();  // ends the body properly

 private:
  void end(bool whole);

  ReplySink* sink_ = nullptr;
  std::uint64_t slot_ = 0;
};

}  // namespace sluice::http
