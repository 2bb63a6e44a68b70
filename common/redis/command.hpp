// A command for Redis, and the receiver of its result.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include <boost/intrusive/list_hook.hpp>

#include "common/redis/command_writer.hpp"
#include "common/redis/reply.hpp"

namespace sluice::redis {

// Why a command has no reply. Where commands wait, tenants take turns (see Flow).
enum class FailureKind : std::uint8_t {
  timeout,        // its deadline has passed
  disconnected,   // the connection was lost or closed
  unavailable,    // not sent: there is no connection, and none is being made
  breaker_open,   // not sent: the circuit breaker is open
  overload,       // not sent in time: its tenant had a turn meanwhile and asked for more
  queue_timeout,  // not sent in time: its tenant had no turn meanwhile, or Redis does not answer
  protocol        // the server broke the protocol
};
struct Failure {
  FailureKind kind = FailureKind::disconnected;
  bool executed_unknown = false;  // true: it was sent, so it may have run; false: it has not run and never will
};

// The tenant and the API key of a command. If commands wait, tenants take turns, and so do a tenant's API keys: a turn
// is one command sent (FairQueue).
struct Flow {
  std::uint64_t tenant = 0;
  std::uint64_t key = 0;
  bool operator==(const Flow&) const = default;
};

// How long a command may wait until it is sent: see Options::queue_wait and Options::batch_queue_wait.
enum class Patience : std::uint8_t { single, batch };

// How a script is called: by its hash (EVALSHA), or with its whole text (EVAL) if Redis lost the script again right
// after it was loaded.
enum class CallBy : std::uint8_t { hash, text };

// What the client must know about a command to send it.
struct Terms {
  Flow flow = {};
  Patience patience = Patience::single;
  std::optional<std::uint8_t> script = {};  // the script that it calls, an index into Options::scripts
  // The deadline of the reply. nullopt: Options::deadline after sending. A command with an answer_by does not wait for
  // a turn: it repeats a command that has waited already, or it is the client's own.
  std::optional<std::chrono::steady_clock::time_point> answer_by = {};
};

// Lets an object stand in a list without an allocation.
using CommandLink = boost::intrusive::list_member_hook<boost::intrusive::link_mode<boost::intrusive::normal_link>>;
struct QueuedKey;

// The command must live until on_reply() or on_failure() is called. Exactly one of the two is called, exactly once. The
// call comes from the loop, or from inside the client's stop() or destructor, but never from inside submit(). The
// function may destroy the command, and may call any function of the client except its destructor.
class Command {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  // Writes exactly one RESP array. Called when the command is sent, and again if it is sent again.
  virtual void write(CommandWriter& out, CallBy by) = 0;
  virtual void on_reply(const Reply& reply) = 0;  // also for error replies; `reply` is valid during the call only
  virtual void on_failure(Failure failure) = 0;

  // The deadline of the reply. REQUIRES: the command was sent.
  TimePoint answer_by() const { return answer_by_; }

 protected:
  ~Command() = default;

 private:
  friend class Endpoint;
  friend class FairQueue;
  friend struct QueuedKey;

  Terms terms_;
  TimePoint answer_by_{};       // TimePoint{}: not known before it is sent
  std::uint8_t misses_ = 0;     // how often Redis answered that it does not know the script
  std::uint8_t redirects_ = 0;  // how often a node of a Cluster sent it to another node
  bool retried_ = false;        // it is sent again after READONLY or MASTERDOWN, which happens once only
  bool asking_ = false;         // ASKING is sent before it
  bool internal_ = false;       // made by the endpoint: a script load, PING or ASKING

  // While it waits in a FairQueue:
  CommandLink in_key_;
  CommandLink by_age_;
  QueuedKey* key_ = nullptr;
  Patience patience_ = Patience::single;
  TimePoint queued_at_{};
  TimePoint send_by_{};
};

}  // namespace sluice::redis
