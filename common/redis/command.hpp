// A command for Redis, and the receiver of its result.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include <boost/intrusive/list_hook.hpp>

#include "common/redis/command_writer.hpp"
#include "common/redis/reply.hpp"

namespace sluice::redis {

// Why a command has no reply.
enum class FailureKind : std::uint8_t {
  timeout,
  disconnected,
  unavailable,  // not sent: there is no connection, and none is being made
  breaker_open,
  overload,       // not sent in time, although its tenant had a turn meanwhile
  queue_timeout,  // not sent in time: its tenant had no turn meanwhile, or Redis does not answer
  protocol        // Redis broke the protocol
};
struct Failure {
  FailureKind kind = FailureKind::disconnected;
  bool executed_unknown = false;  // the command was sent, so it may have run
};

// If commands wait, tenants take turns, and so do a tenant's API keys. A turn is one command (FairQueue).
struct Flow {
  std::uint64_t tenant = 0;
  std::uint64_t key = 0;
  bool operator==(const Flow&) const = default;
};

// See Options::queue_wait and Options::batch_queue_wait.
enum class Patience : std::uint8_t { single, batch };

// A script is called by its hash (EVALSHA), or by its text (EVAL) if Redis lost the script right after loading it. With
// a login that may bring no scripts, it is called as a function (FCALL) of a library that somebody else has loaded.
enum class CallBy : std::uint8_t { hash, text, function };

struct Terms {
  Flow flow = {};
  Patience patience = Patience::single;
  std::optional<std::uint8_t> script = {};  // an index into Options::scripts
  // The deadline of the reply; by default Options::deadline after sending. A command with an answer_by does not wait
  // for a turn.
  std::optional<std::chrono::steady_clock::time_point> answer_by = {};
};

using CommandLink = boost::intrusive::list_member_hook<boost::intrusive::link_mode<boost::intrusive::normal_link>>;
struct QueuedKey;

// Exactly one of on_reply() and on_failure() is called, once, from the loop or from inside the client's stop() or
// destructor. The command must live until then. Both functions are allowed to destroy the command, and to call any
// function of the client except its destructor.
class Command {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  // Writes exactly one RESP array. Called each time that the command is sent.
  virtual void write(CommandWriter& out, CallBy by) = 0;
  virtual void on_reply(const Reply& reply) = 0;  // also for error replies; `reply` is valid during the call only
  virtual void on_failure(Failure failure) = 0;

  // REQUIRES: the command was sent.
  TimePoint answer_by() const { return answer_by_; }

 protected:
  ~Command() = default;

 private:
  friend class Endpoint;
  friend class Failures;
  friend class FairQueue;
  friend struct QueuedKey;

  Terms terms_;
  TimePoint answer_by_{};       // without terms_.answer_by: TimePoint{} until the command is sent
  std::uint8_t misses_ = 0;     // how many replies were NOSCRIPT
  std::uint8_t redirects_ = 0;  // to other nodes
  bool retried_ = false;        // sent again after READONLY or MASTERDOWN
  bool asking_ = false;         // ASKING is sent before the command
  bool internal_ = false;       // made by the endpoint: a script load, PING or ASKING

  // While its failure waits to be reported:
  Failure failure_;
  Command* next_failed_ = nullptr;

  // While the command waits in a FairQueue:
  CommandLink in_key_;
  CommandLink by_age_;
  QueuedKey* key_ = nullptr;
  Patience patience_ = Patience::single;
  TimePoint queued_at_{};
  TimePoint send_by_{};
};

}  // namespace sluice::redis
