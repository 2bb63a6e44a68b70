// A reply whose body is sent piece by piece, for as long as both sides want: see Reply::stream().
//
// The body is sent in the chunked transfer coding; with HTTP/1.0, as bytes until the connection closes. A stream has no
// idle time-out. Its writer should send something regularly: only a write that is not sent within `write_timeout` shows
// that the client has vanished. Further requests on the same connection wait until the stream has ended.
// Thread safety: none; it belongs to the server's thread.
#pragma once

#include <cstdint>
#include <string_view>

namespace sluice::http {

class ReplySink;

// Callbacks to the writer of a stream. The writer outlives the Stream. The connection may call back inside a call to
// the Server (close_all), but never inside a call to the Stream. The callbacks may use and destroy any Stream.
class StreamEvents {
 public:
  // Called after a refused write, when the next piece can be written.
  virtual void on_writable() = 0;
  // The stream has ended, but not by the writer: the client is gone or does not read, or the server closes or drains. A
  // drain finishes the body properly; in the other cases the body is incomplete. Called once, as the last callback.
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

  // False: nothing can be written any more. The stream is finished, the client is gone, or the reply has no body
  // (HEAD). A stream that was never open calls no StreamEvents.
  bool open() const;

  // Sends a piece of any size; an empty one does nothing. The stream accepts a piece only while no earlier piece waits
  // for the client, so a slow reader never builds up a queue. (Within one turn of the loop it accepts pieces until
  // 64 KiB wait to be sent.) False: the piece was dropped. If the stream is open, on_writable() follows when the next
  // piece can be written; write the newest state then.
  bool write(std::string_view piece);

  void finish();  // ends the body properly

 private:
  void end(bool whole);

  ReplySink* sink_ = nullptr;
  std::uint64_t slot_ = 0;
};

}  // namespace sluice::http
