// Decides which command for one Redis is sent now, waits, is refused, or is sent again.
//
//   submit ──▶ arrivals ──┬─────────────────┬─▶ pipeline ──▶ reply, or failure
//                         └─▶ fair queue ───┤
//                               │           └── urgent: set-up, probes, and what is sent again
//                               └─▶ overload, queue_timeout
//
// The Window limits the commands in flight, the FairQueue chooses which waiting command is sent next, the Pipeline
// pairs replies with commands, and the Breaker decides whether Redis is asked at all.
//
// After some error replies a command is sent again, within its deadline:
//   NOSCRIPT               the script is loaded first
//   READONLY, MASTERDOWN   only once; the driver (Node) should make a new connection
//   MOVED, ASK             the endpoint of the node that Redis names sends the command
// A command that may have run is never sent again. Neither is one whose function Redis does not have: only a server
// loads libraries of functions.
//
// No I/O and no clock: bytes, time and random numbers are arguments. Not thread-safe. The handlers of commands are
// called inside feed() and report_failures() only; they may call any function except feed().
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/error.hpp"
#include "common/redis/breaker.hpp"
#include "common/redis/command.hpp"
#include "common/redis/failures.hpp"
#include "common/redis/fair_queue.hpp"
#include "common/redis/pipeline.hpp"
#include "common/redis/ring.hpp"
#include "common/redis/window.hpp"

namespace sluice::redis {

class Endpoint final : private Pipeline::Receiver {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  using Duration = std::chrono::nanoseconds;

  struct Settings {
    Duration deadline{};                        // from sending to the reply
    Duration queue_wait{};                      // how long a command with Patience::single may wait to be sent
    Duration batch_queue_wait{};                // the queue_wait of a command with Patience::batch
    std::span<const std::string_view> scripts;  // texts; loaded when a connection opens
    std::function<double()> random;             // uniform in [0, 1)
    std::size_t max_reply_bytes = ReplyReader::kMaxReplyBytes;
    std::chrono::milliseconds probe_every = Breaker::kProbeEvery;  // of the breaker
    // Called with each NOSCRIPT, READONLY and MASTERDOWN after which the command is sent again.
    std::function<void(const Reply&)> healed{};
    // Called with each MOVED, ASK and CLUSTERDOWN. Returns whether another endpoint has taken the command.
    std::function<bool(Command&, const Reply&)> redirect{};
  };
  explicit Endpoint(Settings settings);
  ~Endpoint();

  void submit(Command& command, const Terms& terms);
  // For a command that this or another endpoint has sent. The command keeps its deadline, and is sent ahead of commands
  // that wait. REQUIRES: called inside the command's on_reply() or Settings::redirect. `asking`: ASKING is sent first.
  void resubmit(Command& command, bool asking = false);
  // Resubmits after a pause of kPause. Returns false, and does not take the command, if its deadline would pass
  // meanwhile or if there is no connection.
  bool postpone(Command& command, TimePoint now);

  static constexpr std::chrono::milliseconds kPause{5};
  // Nodes that disagree could otherwise send a command in circles.
  static constexpr std::uint8_t kMostRedirects = 5;

  enum class Phase : std::uint8_t { closed, opening, open };
  void opening() { phase_ = Phase::opening; }
  // `by`: hash or function, as the connection's login allows. By hash, the scripts are loaded before anything else is
  // sent.
  void opened(CallBy by = CallBy::hash);
  // Another connection replaces the open one. REQUIRES: idle()
  void taken_over(CallBy by = CallBy::hash);
  // Fails the commands that were sent. Waiting commands go to the next connection if `next` is opening; they fail with
  // `unavailable` if `next` is closed.
  void lost(FailureKind kind, Phase next, TimePoint now);
  void connect_failed(TimePoint now);  // counts for the breaker; the caller calls lost() next
  void stop();                         // all commands fail with `disconnected`

  bool idle() const { return pipeline_.owed() == 0; }

  // Replaces the content of `out` by the commands that are sent now. Returns false if there is nothing to send. `out`
  // is nullptr if the caller cannot send now.
  bool turn(std::string* out, TimePoint now);
  // The write of the last turn() failed before its first byte: its commands wait again.
  void not_written();
  // After an error (`protocol`) the connection must be closed.
  Result<> feed(std::string_view bytes, TimePoint now);
  // Whether an error reply since the last call says that Redis is a replica or refuses our login.
  bool take_reconnect_wish() { return std::exchange(wishes_reconnect_, false); }

  // Ends overdue commands. Returns false if the connection is dead and must be closed.
  bool expire(TimePoint now);
  // The latest time for the next call of expire() and then turn().
  TimePoint next_event() const;
  // Calls the handlers of failed commands. The next call reports the failures that these handlers cause.
  void report_failures() { failures_.report(); }
  bool has_failures() const { return !failures_.empty(); }

  Breaker::State breaker() const { return breaker_.state(); }
  TimePoint next_probe() const { return breaker_.next_probe(); }
  void probe();                 // sends a PING. REQUIRES: the breaker is open
  void greeted(TimePoint now);  // a handshake succeeded; it counts as an answered PING if next_probe() <= now
  void forget_failures() { breaker_ = Breaker(settings_.probe_every); }  // for a connection to another Redis

  std::size_t unfinished() const;  // commands without a result yet
  std::size_t waiting() const { return urgent_.size() + postponed_.size() + arrivals_.size() + queue_.size(); }
  std::size_t window() const { return window_.size(); }
  bool busy(TimePoint now) const { return window_.busy(now) && breaker_.state() == Breaker::State::closed; }

 private:
  class Load;
  class Ping;
  class Asking;
  struct Postponed {
    Command* command = nullptr;
    TimePoint due{};
  };

  void on_reply(Command& command, const Reply& reply) override;
  void on_no_reply(Command& command, FailureKind kind) override;
  bool heal(Command& command, const Reply& reply);
  bool redirect(Command& command, const Reply& reply);
  bool passes(Command& command);
  void load(std::uint8_t script);
  void hurry(Command& command);
  void send(Command& command, std::string& out, TimePoint now);
  void append(Command& command, std::string& out, TimePoint now);
  void wait(Command& command, TimePoint now);
  bool has_room() const { return pipeline_.owed() < window_.size(); }
  void fail(Command& command, Failure failure);
  void fail_without_memory(Command& command);
  void fail_waiting(FailureKind kind);
  void expire_urgent();
  void expire_queue();
  void count_outcomes();
  void end_trial(const Command& command, bool succeeded);

  const Settings settings_;
  Failures failures_;
  Pipeline pipeline_;
  FairQueue queue_;
  Window window_;
  Breaker breaker_;
  Phase phase_ = Phase::closed;
  CallBy call_by_ = CallBy::hash;              // of the connection
  Ring<Command*> arrivals_;                    // submitted since the last turn()
  Ring<Command*> urgent_;                      // sent first, even if the window is full
  TimePoint urgent_until_ = TimePoint::max();  // the earliest deadline of the urgent commands
  Ring<Postponed> postponed_;                  // in the order of `due`
  Command* trial_ = nullptr;                   // the one command that a half-open breaker lets pass
  std::vector<std::unique_ptr<Load>> loads_;   // in the order of Settings::scripts
  std::unique_ptr<Ping> ping_;
  std::unique_ptr<Asking> asking_;  // may be in flight several times at once
  Outcomes outcomes_;               // not given to the breaker yet
  TimePoint now_{};                 // from the last call
  TimePoint heard_at_{};            // when the last bytes arrived
  TimePoint late_at_{};             // when a reply was last overdue
  bool wishes_reconnect_ = false;
};

}  // namespace sluice::redis
