// The replies of one connection: handlers answer in any order, and the replies are sent in the order of their requests.
//
// One slot is opened for each request and answered at most once. The reply of the oldest slot goes straight to the
// output; replies of later slots wait. A stream keeps its slot until it ends. Nothing is output after a reply that
// closes the connection.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/http/message.hpp"
#include "common/http/output.hpp"
#include "common/http/peer_watcher.hpp"
#include "common/http/response_writer.hpp"
#include "common/http/stream.hpp"

namespace sluice::http {

class ReplyQueue {
 public:
  // Returns the number of the new slot.
  std::uint64_t open(ReplyShape shape);

  // `date` is a whole Date line. If `last_closes` is true and the slot is the newest, the reply gets `Connection:
  // close`. Returns false for a slot that is not open: the answer is dropped. If there is no memory for the answer,
  // throws std::bad_alloc; the slot then is open still, or its answer waits behind others.
  bool answer(std::uint64_t slot, const Response& response, std::string_view date, bool last_closes, Output& out);

  // Returns false if there is no stream, because the reply has no body or was dropped.
  bool begin_stream(std::uint64_t slot, const Response& head, std::string_view date, bool last_closes,
                    StreamEvents& events, Output& out);
  bool stream_open(std::uint64_t slot) const;
  bool in_turn(std::uint64_t slot) const { return slot == first_ && stream_open(slot); }
  void write(std::uint64_t slot, std::string_view piece, Output& out);  // REQUIRES: in_turn(slot)
  // Does not call the StreamEvents. If `whole` is false, the body stays incomplete and the connection closes.
  void end_stream(std::uint64_t slot, bool whole, Output& out);
  // Finishes one open stream, if there is one, and returns its StreamEvents for the caller to notify.
  StreamEvents* finish_next(Output& out);
  // Like finish_next(), but for a closed connection. If no stream is left, drops all replies.
  StreamEvents* abandon_next();

  void request_on_writable(std::uint64_t slot);
  // If the oldest slot is a stream that waits for on_writable(), ends its wait and returns its StreamEvents.
  StreamEvents* take_waiting_stream();
  bool stream_waits() const { return streaming() && ring_[first_ & (ring_.size() - 1)].waits; }

  // Returns false if the slot is not open.
  bool watch(std::uint64_t slot, PeerWatcher& watcher);
  // Of the oldest open slot that has one, which then has none; nullptr if no open slot has one.
  PeerWatcher* take_watcher();
  bool watched() const;

  // Removes the newest slot. REQUIRES: it was not answered.
  void withdraw() { --next_; }

  // Sends "100 Continue" after all earlier replies. If it must wait, it gets a slot of its own.
  void announce_continue(Output& out);

  std::size_t unsent() const { return closed_ ? 0 : held(); }  // slots whose replies are not completely output
  std::size_t waiting_bytes() const;                           // of replies that wait for their turn
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
    PeerWatcher* watcher = nullptr;  // while the slot is open
    std::string text;                // a reply that waits for its turn
    SharedBody body;                 // follows `text`
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
