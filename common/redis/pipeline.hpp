// Pairs the commands that were sent on one connection with their replies, in order, and watches their deadlines.
//
// No I/O, no clock, no timer: bytes and time are arguments. Not thread-safe.
//
// A command whose deadline passed keeps its slot as abandoned: its reply is read and dropped.
//
// Invariant: every command that was sent is given to the Receiver exactly once, or taken back. on_reply() may call any
// function of the pipeline except feed(), on_no_reply() none.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "common/base/error.hpp"
#include "common/redis/command.hpp"
#include "common/redis/reply_reader.hpp"
#include "common/redis/ring.hpp"

namespace sluice::redis {

class Pipeline {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  using Duration = std::chrono::nanoseconds;

  class Receiver {
   public:
    virtual void on_reply(Command& command, const Reply& reply) = 0;   // `reply` is valid during the call only
    virtual void on_no_reply(Command& command, FailureKind kind) = 0;  // the command may have run

   protected:
    ~Receiver() = default;
  };

  // `max_silence`: if a reply is owed and no byte arrives for this long, the connection counts as dead.
  Pipeline(Duration max_silence, Receiver& receiver, std::size_t max_reply_bytes = ReplyReader::kMaxReplyBytes)
      : max_silence_(max_silence), receiver_(receiver), reader_(max_reply_bytes) {}

  // The commands that are sent from here on go out in one write.
  void begin_write() { last_write_ = 0; }
  // The command was written: its reply is owed now.
  void sent(Command& command, TimePoint now, TimePoint answer_by);
  // The last write failed before its first byte. Removes its latest command and returns it. Skips those that are
  // abandoned. nullptr: none is left.
  Command* take_back();

  // Takes bytes that arrived from the server, and gives complete replies to the receiver, in order. Error `protocol`:
  // the connection must be closed. Returns early, without error, when the receiver called disconnect().
  Result<> feed(std::string_view bytes, TimePoint now);

  // Abandons the commands whose deadline has passed. False: a reply is owed and no byte has arrived for max_silence, so
  // the connection must be closed.
  bool expire(TimePoint now);
  // The latest time for the next expire(); TimePoint::max(): there is no deadline.
  TimePoint next_event() const { return next_event_; }

  // The connection is lost: the commands fail, and may have run.
  void disconnect(FailureKind kind);

  std::size_t owed() const { return slots_.size(); }  // replies, also those of abandoned commands
  std::size_t live() const { return live_; }          // commands that wait for one of them

  // The least time from sending to a reply since the last call, also of replies that came too late. Duration::max():
  // none has arrived.
  Duration take_fastest() { return std::exchange(fastest_, Duration::max()); }

 private:
  struct Slot {
    Command* command = nullptr;  // nullptr: abandoned
    TimePoint sent_at{};
    TimePoint answer_by{};
  };

  Result<> deliver(TimePoint now);
  void abandon(Slot& slot, FailureKind kind);
  TimePoint silence_deadline() const;

  const Duration max_silence_;
  Receiver& receiver_;
  ReplyReader reader_;
  Ring<Slot> slots_;
  std::size_t last_write_ = 0;  // how many of them, at the end, belong to the last write
  std::size_t live_ = 0;
  std::uint64_t connection_ = 0;  // counts calls of disconnect(), so that feed() notices one by the receiver
  Duration fastest_ = Duration::max();
  TimePoint heard_at_ = TimePoint::min();  // when the last bytes arrived
  TimePoint next_event_ = TimePoint::max();
};

}  // namespace sluice::redis
