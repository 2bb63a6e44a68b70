// The replies of one connection: given in any order, sent in the order of their requests.
//
// Thread safety: none; no I/O.
// Invariants: a slot is opened once per request, in request order, and answered at most once. The reply of the oldest
// slot goes straight to the output; one that comes too early waits in its slot. A stream keeps its slot until it ends.
// Behind a reply that closes the connection nothing is ever output.
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
  std::uint64_t open(ReplyShape shape);

  // `out` gets this reply and those that waited for it. `last_closes`: the reply to the newest request says that the
  // connection closes. Answers to slots that are not open are dropped.
  void answer(std::uint64_t slot, const Response& response, std::string_view date, bool last_closes, Output& out);

  // The same with a reply that begins a stream. False: it is answered, or dropped, and there is no stream.
  bool begin_stream(std::uint64_t slot, const Response& head, std::string_view date, bool last_closes,
                    StreamEvents& events, Output& out);
  bool stream_open(std::uint64_t slot) const;
  bool in_turn(std::uint64_t slot) const { return slot == first_ && stream_open(slot); }
  void write(std::uint64_t slot, std::string_view piece, Output& out);  // REQUIRES: in_turn(slot)
  // Nobody is told any more. Not `whole`: the connection closes behind what is written so far.
  void end_stream(std::uint64_t slot, bool whole, Output& out);
  // Ends one, properly, and says who is to be told; null: there is none.
  StreamEvents* finish_next(Output& out);
  // The same where the connection is gone; where there is none, forgets all replies.
  StreamEvents* abandon_next();

  // Somebody wants to write who could not: take_room() gives whom to tell once, when it is that stream's turn.
  void want_room(std::uint64_t slot);
  StreamEvents* take_room();
  bool room_wanted() const { return streaming() && ring_[first_ & (ring_.size() - 1)].wants_room; }

  // Takes the newest slot back. REQUIRES: it was not answered.
  void withdraw() { --next_; }

  // "100 Continue", once all requests before it are answered.
  void announce_continue(Output& out);

  std::size_t unanswered() const { return closed_ ? 0 : held(); }  // opened, not yet output to their end
  std::size_t streams() const { return streams_; }                 // of these, begun and not ended
  bool streaming() const { return in_turn(first_); }
  bool closed() const { return closed_; }  // the reply that closes the connection is output
  void release_memory();                   // REQUIRES: unanswered() == 0, and no stream

 private:
  enum class State : std::uint8_t { open, streaming, ready };
  struct Slot {
    ReplyShape shape;
    State state = State::open;
    bool wants_room = false;
    StreamEvents* events = nullptr;
    std::string text;  // a reply that came before its turn
    SharedBody body;   // and what follows the text
  };

  std::size_t held() const { return static_cast<std::size_t>(next_ - first_); }
  Slot& slot(std::uint64_t number) { return ring_[number & (ring_.size() - 1)]; }
  Slot* take_open(std::uint64_t number, bool last_closes);
  std::string& text_of(std::uint64_t number, Output& out) { return number == first_ ? out.text() : slot(number).text; }
  void end(std::uint64_t number, bool whole, Output& out);
  void grow();
  void pop_ready(Output& out);

  std::vector<Slot> ring_;  // size: 0 or a power of two
  std::uint64_t first_ = 0;
  std::uint64_t next_ = 0;
  std::uint32_t streams_ = 0;
  bool closed_ = false;
};

}  // namespace sluice::http
