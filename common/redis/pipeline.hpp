// Pairs the commands to one Redis with their replies, in order, and watches their deadlines.
//
// No I/O, no clock, no timer: bytes and time are arguments. Not thread-safe.
//
// The commands form one queue: first those that were sent (handed out by take_output), then those that wait. A sent
// command whose deadline passed keeps its slot as abandoned: its reply is read and dropped. A command that was not sent
// is removed from the output together with its slot. So it can never run after its handler was called with "not run".
//
// Invariants: every handler is called exactly once, only inside feed() and report_failures(). A handler may call any
// function of the pipeline except feed(), and its call may destroy it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "common/base/error.hpp"
#include "common/redis/breaker.hpp"
#include "common/redis/client.hpp"
#include "common/redis/command_writer.hpp"
#include "common/redis/reply_reader.hpp"
#include "common/redis/ring.hpp"

namespace sluice::redis {

class Pipeline {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  // `max_silence`: how long no byte may arrive while a reply is owed before the connection counts as dead.
  explicit Pipeline(std::chrono::nanoseconds max_silence, std::size_t max_reply_bytes = ReplyReader::kMaxReplyBytes)
      : max_silence_(max_silence), reader_(max_reply_bytes) {}

  // Adds a command. The caller writes one whole RESP array before it calls any other function of the pipeline.
  CommandWriter& begin(ReplyHandler& handler, TimePoint deadline);
  // As begin(), for a command that cannot be sent. The pipeline drops the written bytes, and the next report_failures()
  // fails the command with `kind`.
  CommandWriter& refuse(ReplyHandler& handler, FailureKind kind);

  // Moves all waiting commands into `out`, replacing its content; from here on they count as sent. False and no change
  // when nothing waits.
  bool take_output(std::string& out, TimePoint now);
  // The write of the last take_output failed before its first byte: its commands wait again, except the abandoned.
  void put_back_output(std::string& out);

  // Takes bytes that arrived from the server and calls the handlers of complete replies, in order. Error `protocol`:
  // the connection must be closed. Returns early, without error, when a handler called disconnect().
  Result<> feed(std::string_view bytes, TimePoint now);

  // Abandons the commands whose deadline has passed; report_failures() must follow. False: a reply is owed and no byte
  // has arrived for max_silence, so the connection must be closed.
  bool expire(TimePoint now);
  // The latest time for the next expire(); TimePoint::max(): there is no deadline.
  TimePoint next_event() const { return next_event_; }

  // The connection is lost: the sent commands fail and may have run. Waiting commands stay for the next connection.
  void disconnect(FailureKind kind);
  // The waiting commands fail; they have not run.
  void fail_waiting(FailureKind kind);

  // Calls the handlers of all failures up to now. Failures that these handlers cause are reported by the next call.
  void report_failures();
  bool has_failures() const { return !failures_.empty(); }

  // Returns how sent commands have ended since the last call: for the breaker. An error reply that says that Redis can
  // do nothing now (LOADING, BUSY, OOM, NOREPLICAS, MISCONF, MASTERDOWN) counts as a failure, any other reply as a
  // success.
  Outcomes take_outcomes() { return std::exchange(outcomes_, {}); }

  // Commands whose handlers have not been called yet.
  std::size_t in_flight() const { return live_ + failures_.size(); }

 private:
  struct Slot {
    ReplyHandler* handler = nullptr;  // nullptr: abandoned
    TimePoint deadline{};
    TimePoint sent_at{};
    std::size_t offset = 0;  // where its bytes begin in waiting_, or in the output it was sent with
  };
  struct PendingFailure {
    ReplyHandler* handler = nullptr;
    Failure failure;
  };

  Result<> deliver();
  void abandon(Slot& slot, Failure failure);
  void drop_abandoned_waiting();
  TimePoint silence_deadline() const;

  std::chrono::nanoseconds max_silence_;
  ReplyReader reader_;
  Ring<Slot> slots_;
  std::size_t sent_ = 0;   // slots_[0, sent_) are sent
  std::size_t batch_ = 0;  // how many of these, at the end, the last take_output handed out
  std::size_t live_ = 0;   // slots that are not abandoned
  std::string waiting_;    // the bytes of slots_[sent_, size)
  CommandWriter writer_{waiting_};
  std::string refused_;
  CommandWriter refused_writer_{refused_};
  Ring<PendingFailure> failures_;
  std::uint64_t failures_added_ = 0;
  std::uint64_t failures_reported_ = 0;
  std::uint64_t connection_ = 0;  // counts calls of disconnect(), so that feed() notices one by a handler
  Outcomes outcomes_;
  TimePoint heard_at_ = TimePoint::min();  // when the last bytes arrived
  TimePoint next_event_ = TimePoint::max();
};

}  // namespace sluice::redis
