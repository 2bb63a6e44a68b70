// Commands and replies of one Redis, paired in order. All that a connection must know, without the connection.
//
// No I/O, no clock, no timer: bytes and time come in as arguments. Not thread-safe.
//
// The commands form one queue: first those that were sent (handed out by take_output), then those that wait. A sent
// command whose deadline passed keeps its slot, abandoned: its reply is read and thrown away. One that was not sent is
// taken out of the buffer with its slot, so that it can never run after its handler was told so.
//
// Invariants: every handler is told exactly once, never inside begin(), refuse(), expire(), disconnect() or
// fail_waiting(), only inside feed() and tell(). Handlers may call anything of the pipeline, except feed(), and may be
// gone once told.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/error.hpp"
#include "common/redis/client.hpp"
#include "common/redis/command_writer.hpp"
#include "common/redis/reply_reader.hpp"
#include "common/redis/ring.hpp"

namespace sluice::redis {

class Pipeline {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  // `patience`: how long the oldest reply may be owed before the connection is given up (2 × the deadline of commands).
  explicit Pipeline(std::chrono::nanoseconds patience, std::size_t max_reply_bytes = ReplyReader::kMaxReplyBytes)
      : patience_(patience), reader_(max_reply_bytes) {}

  // A command and its slot. The caller writes one whole RESP array before calling anything else of the pipeline.
  CommandWriter& begin(ReplyHandler& handler, TimePoint deadline);
  // A command that cannot be sent: what is written goes nowhere, and the next tell() says `unavailable`.
  CommandWriter& refuse(ReplyHandler& handler);

  // Output. take_output: all that waits, into `out`, whose old content is dropped; false and no change when nothing
  // waits. From here on these commands count as sent.
  bool take_output(std::string& out, TimePoint now);
  // The write of the last take_output failed before its first byte: its commands wait again, except the abandoned.
  void untake_output(std::string& out);

  // Input: delivers the replies in order. Error `protocol`: the connection must be closed. Returns early, without
  // error, when a handler called disconnect().
  Result<> feed(std::string_view bytes);

  // Time. expire() abandons what is overdue; tell() is to follow. False: the oldest reply has been owed for longer than
  // the patience, the connection must be closed.
  bool expire(TimePoint now);
  // When expire() is to be called next, at the latest; TimePoint::max() when nothing waits.
  TimePoint next_event() const { return next_event_; }

  // The connection is gone: those sent may have run. Those that wait go on waiting, for the next connection.
  void disconnect(FailureKind kind);
  // Those that wait are given up: they have not run.
  void fail_waiting(FailureKind kind);

  // Tells the handlers of all failures noted before this call (what they begin anew is told of in the next).
  void tell();
  bool has_to_tell() const { return !failures_.empty(); }

  // Commands begun whose handlers were not told yet.
  std::size_t in_flight() const { return live_ + failures_.size(); }

 private:
  struct Slot {
    ReplyHandler* handler = nullptr;  // nullptr: abandoned
    TimePoint deadline{};
    TimePoint sent_at{};
    std::size_t offset = 0;  // where its bytes begin, in the buffer it waits in or was sent from
  };
  struct Told {
    ReplyHandler* handler = nullptr;
    Failure failure;
  };

  Result<> deliver();
  void abandon(Slot& slot, Failure failure);
  void drop_abandoned_waiting();
  TimePoint end_of_patience(const Slot& slot) const;

  std::chrono::nanoseconds patience_;
  ReplyReader reader_;
  Ring<Slot> slots_;
  std::size_t sent_ = 0;   // slots_[0, sent_) are sent
  std::size_t batch_ = 0;  // of these, the last ones, sent by the last take_output
  std::size_t live_ = 0;   // slots_ that are not abandoned
  std::string waiting_;    // the bytes of slots_[sent_, size)
  CommandWriter writer_{waiting_};
  std::string refused_;
  CommandWriter refused_writer_{refused_};
  Ring<Told> failures_;
  std::uint64_t failures_noted_ = 0;
  std::uint64_t failures_told_ = 0;
  std::uint64_t connection_ = 0;  // counts disconnect(): feed() sees that a handler called it
  TimePoint next_event_ = TimePoint::max();
};

}  // namespace sluice::redis
