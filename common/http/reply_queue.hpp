// The replies of one connection: handlers answer in any order, and the replies are sent in the order of their requests.
//
// Thread safety: none; no I/O.
// Invariants: one slot is opened for each request, in request order, and answered at most once. A "100 Continue" that
// must wait has a slot of its own. The reply of the oldest slot goes straight to the output; replies of later slots
// wait. A stream keeps its slot until it ends. Nothing is output after a reply that closes the connection.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/http/message.hpp"
#include "common/http/output.hpp"
#include "common/http/response_writer.hpp"
#include "common/http/stream.hpp"

namespace sluice::http {

class ReplyQueue {
 public:
  // Opens a slot for the next request and returns its number.
  std::uint64_t open(ReplyShape shape);

  // Answers a slot. If it is the oldest, appends its reply to `out`, then the replies that waited for it. Otherwise the
  // reply waits for its turn. `date`: a whole Date line. `last_closes`: if this is the newest slot, its reply gets
  // `Connection: close`. Answers to slots that are not open are dropped.
  void answer(std::uint64_t slot, const Response& response, std::string_view date, bool last_closes, Output& out);

  // Answers a slot with a reply that begins a stream. False: there is no stream, because the reply has no body or was
  // dropped.
  bool begin_stream(std::uint64_t slot, const Response& head, std::string_view date, bool last_closes,
                    StreamEvents& events, Output& out);
  bool stream_open(std::uint64_t slot) const;
  bool in_turn(std::uint64_t slot) const { return slot == first_ && stream_open(slot); }
  void write(std::uint64_t slot, std::string_view piece, Output& out);  // REQUIRES: in_turn(slot)
  // Ends the stream without calling its StreamEvents. If `whole` is false, the body stays incomplete: the connection
  // closes after the bytes written so far.
  void end_stream(std::uint64_t slot, bool whole, Output& out);
  // Finishes one open stream properly and returns its StreamEvents, for the caller to notify; nullptr: no open stream.
  StreamEvents* finish_next(Output& out);
  // For a closed connection: ends one open stream with an incomplete body and returns its StreamEvents. nullptr: no
  // stream was left, and all replies have been dropped.
  StreamEvents* abandon_next();

  // Notes that on_writable() must follow for this stream, because a write to it was refused.
  void request_on_writable(std::uint64_t slot);
  // If the first reply is a stream that waits for on_writable(), ends its wait and returns its StreamEvents. Otherwise
  // returns nullptr.
  StreamEvents* take_waiting_stream();
  bool stream_waits() const { return streaming() && ring_[first_ & (ring_.size() - 1)].waits; }

  // Removes the newest slot. REQUIRES: it was not answered.
  void withdraw() { --next_; }

  // Sends "100 Continue" now if no earlier reply is outstanding. Otherwise puts it into a slot of its own, so that it
  // is sent after the earlier replies.
  void announce_continue(Output& out);

  std::size_t unsent() const { return closed_ ? 0 : held(); }  // slots whose replies are not completely output
  std::size_t streams() const { return streams_; }             // open streams, also after closed()
  bool streaming() const { return in_turn(first_); }           // the oldest slot is an open stream
  bool closed() const { return closed_; }                      // the reply that closes the connection was output
  void release_memory();                                       // REQUIRES: unsent() == 0, and no stream

 private:
  enum class State : std::uint8_t { open, streaming, ready };
  struct Slot {
    ReplyShape shape;
    State state = State::open;
    bool waits = false;  // the stream waits for on_writable()
    StreamEvents* events = nullptr;
    std::string text;  // a reply that waits for its turn
    SharedBody body;   // follows `text`
  };

  std::size_t held() const { return static_cast<std::size_t>(next_ - first_); }
  Slot& slot(std::uint64_t number) { return ring_[number & (ring_.size() - 1)]; }
  Slot* take_open(std::uint64_t number, bool last_closes);
  std::string& text_of(std::uint64_t number, Output& out) { return number == first_ ? out.text() : slot(number).text; }
  void end(std::uint64_t number, bool whole, Output& out);
  void grow();
  void output_ready(Output& out);

  std::vector<Slot> ring_;  // size: 0 or a power of two
  std::uint64_t first_ = 0;
  std::uint64_t next_ = 0;
  std::uint32_t streams_ = 0;
  bool closed_ = false;
};

}  // namespace sluice::http
