// A reply whose body is sent piece by piece. See Reply::stream().
//
// A stream has no idle time-out. Its writer should send something regularly, because only a write that is not sent
// within `write_timeout` shows that the client has vanished. Further requests on the connection wait until the stream
// has ended. Thread safety: none; it belongs to the server's thread.
#pragma once

#include <cstdint>
#include <string_view>

namespace sluice::http {

class ReplySink;

// Callbacks to the writer of a stream. The writer outlives the Stream. A callback can come inside a call to the Server
// (close_all), but never inside a call to the Stream. A callback may use and destroy any Stream.
class StreamEvents {
 public:
  // Called after a refused write, when the next piece can be written.
  virtual void on_writable() = 0;
  // The client or the server has ended the stream. This is the last callback. If the server drains, the body is
  // completed; in all other cases the client sees that it was cut off.
  virtual void on_ended() = 0;

 protected:
  ~StreamEvents() = default;
};

// The right to write one reply's body. If a Stream is destroyed before finish(), it closes the connection without the
// end of the body, so that the client notices (except with HTTP/1.0).
class Stream {
 public:
  Stream() = default;  // not open
  Stream(ReplySink* sink, std::uint64_t slot);
  Stream(Stream&& other) noexcept;
  Stream& operator=(Stream&& other) noexcept;
  ~Stream();

  // Whether pieces can still be written. A stream that was never open (after HEAD) calls no StreamEvents.
  bool open() const;

  // Sends a piece of any size. Returns false if the piece was dropped, because earlier pieces still wait for the client
  // or the stream is not open. If the stream is open, on_writable() follows when the next piece can be written.
  bool write(std::string_view piece);

  void finish();

 private:
  void end(bool whole);

  ReplySink* sink_ = nullptr;
  std::uint64_t slot_ = 0;
};

}  // namespace sluice::http
