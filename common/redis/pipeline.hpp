// Pairs the commands that were sent on one connection with their replies, in order, and watches their deadlines.
//
// No I/O, no clock, no timer: bytes and time are arguments. Not thread-safe.
//
// A slot stands for a reply that is owed. A command whose deadline passed is abandoned: it fails, but its slot stays,
// so that its reply is read and dropped.
//
// Invariant: every command that was sent is given to the Receiver exactly once, or taken back. on_reply() may call any
// function of the pipeline except feed(). on_no_reply() must not call the pipeline.
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

  // Begins a write, to which the next calls of sent() belong.
  void begin_write() { last_write_ = 0; }
  // The command is part of the write: its reply is owed now.
  void sent(Command& command, TimePoint now, TimePoint answer_by);
  // To be called repeatedly when the last write failed and none of its bytes was sent. Each call removes and returns
  // the last command of that write; it drops abandoned ones. nullptr: none is left.
  Command* take_back();

  // Takes bytes that arrived from the server, and gives complete replies to the receiver, in order. Error `protocol`:
  // the connection must be closed. Returns early, without error, when the receiver called disconnect().
  Result<> feed(std::string_view bytes, TimePoint now);

  // Abandons the commands whose deadline has passed. False: a reply is owed and no byte has arrived for max_silence, so
  // the connection must be closed.
  bool expire(TimePoint now);
  // When expire() must be called at the latest; TimePoint::max(): there is no deadline.
  TimePoint next_event() const { return next_event_; }

  // The connection is lost: the commands fail, and may have run.
  void disconnect(FailureKind kind);

  std::size_t owed() const { return slots_.size(); }  // owed replies, those of abandoned commands included
  std::size_t live() const { return live_; }          // commands that wait for their reply; abandoned ones do not

  // The shortest time from sending to reply, of all replies since the last call, late ones included. Duration::max():
  // no reply has arrived.
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
  std::size_t last_write_ = 0;  // how many slots, counted from the end, belong to the last write
  std::size_t live_ = 0;
  std::uint64_t connection_ = 0;  // counts calls of disconnect(), so that feed() notices a call by the receiver
  Duration fastest_ = Duration::max();
  TimePoint heard_at_ = TimePoint::min();  // when the last bytes arrived
  TimePoint next_event_ = TimePoint::max();
};

}  // namespace sluice::redis
