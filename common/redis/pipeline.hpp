// Pairs the commands that were sent on one connection with their replies, in order, and watches their deadlines.
//
// A slot stands for a reply that is owed. A command whose deadline passed is abandoned: it fails, but its slot stays,
// so that its reply is read and dropped.
//
// No I/O and no clock: bytes and time are arguments. Every command that was sent is given to the Receiver exactly once,
// or taken back. on_reply() must not call feed(). on_no_reply() must not call the pipeline.
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

  // The next calls of sent() belong to one write.
  void begin_write() { last_write_ = 0; }
  void sent(Command& command, TimePoint now, TimePoint answer_by);
  // For a write that failed before a byte was sent: removes the last command of that write and returns it, or nullptr
  // if none is left. Abandoned commands are removed, but not returned.
  Command* take_back();

  // Returns early when the receiver called disconnect(). After an error (`protocol`) the connection must be closed.
  Result<> feed(std::string_view bytes, TimePoint now);

  // Abandons overdue commands. Returns false if the connection counts as dead and must be closed.
  bool expire(TimePoint now);
  // When expire() must be called at the latest.
  TimePoint next_event() const { return next_event_; }

  void disconnect(FailureKind kind);

  std::size_t owed() const { return slots_.size(); }  // how many replies are owed
  std::size_t live() const { return live_; }          // how many commands are not abandoned

  // The shortest time from sending to reply since the last call, or Duration::max().
  Duration take_fastest() { return std::exchange(fastest_, Duration::max()); }

 private:
  struct Slot {
    Command* command = nullptr;  // nullptr: abandoned
    TimePoint sent_at{};
    TimePoint answer_by{};
  };

  void abandon(Slot& slot, FailureKind kind);
  TimePoint silence_deadline() const;

  const Duration max_silence_;
  Receiver& receiver_;
  ReplyReader reader_;
  Ring<Slot> slots_;
  std::size_t last_write_ = 0;  // how many slots, counted from the end, belong to the last write
  std::size_t live_ = 0;
  std::uint64_t connection_ = 0;  // counts calls of disconnect()
  Duration fastest_ = Duration::max();
  TimePoint heard_at_ = TimePoint::min();  // when the last bytes arrived
  TimePoint next_event_ = TimePoint::max();
};

}  // namespace sluice::redis
