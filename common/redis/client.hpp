// A client of one Redis, of the primary that Redis Sentinels name, or of a Redis Cluster: pipelined, with a deadline on
// every command. With Sentinel, the client looks up the primary before each connect, and follows a failover. In a
// Cluster there is one connection to each primary (here: node).
//
// Thread safety: none. All calls and callbacks happen on the thread that runs the io_context.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <boost/asio/io_context.hpp>

#include "common/base/error.hpp"
#include "common/redis/breaker.hpp"
#include "common/redis/command.hpp"
#include "common/redis/reply.hpp"
#include "common/redis/target.hpp"

namespace sluice::redis {

struct Options {  // all durations > 0
  Target target;
  // If a file below changes, the client notices within about a second and moves to a new connection. No command fails.
  std::string password_file;  // replaces target.password
  // User and password, on two lines; replaces those of the target. With a third line, "functions", the client loads no
  // scripts and calls functions instead.
  std::string login_file;
  // For the sentinels, which never get the login above.
  std::string sentinel_password_file;
  std::string sentinel_login_file;
  std::string tls_ca_file;    // "": the authorities of the operating system
  std::string tls_cert_file;  // client certificate
  std::string tls_key_file;
  std::chrono::milliseconds deadline{25};           // from sending to the reply
  std::chrono::milliseconds queue_wait{25};         // how long a command may wait to be sent
  std::chrono::milliseconds batch_queue_wait{450};  // the queue_wait of a command of a batch
  std::chrono::milliseconds connect_timeout{1000};
  std::chrono::milliseconds backoff_first{50};  // bound of the first, random pause; doubles up to backoff_max
  std::chrono::milliseconds backoff_max{1000};
  std::chrono::milliseconds probe_every{Breaker::kProbeEvery};  // of the breaker, plus a random part of up to a quarter
  std::size_t max_reply_bytes = std::size_t{1} << 20;           // a connection with a larger reply is closed
  std::string client_name = "sluice-agent";
  std::span<const std::string_view> scripts = {};  // texts; loaded at each connect, unless the login calls functions
};

// Called from the loop. The callbacks may call submit() and stop(), but must not destroy the client. No text holds a
// password.
// Codes of connect_failed: refused, unreachable, timeout, resolve, tls, no_login, credentials, authentication,
// permission, database, loading, busy, masterdown, too_old, no_scripts, denied, disconnected, protocol, cluster (the
// Redis is a node of a Cluster, but the URL names no Cluster) and no_cluster (the reverse). With Sentinel also
// unknown_primary (no sentinel watches a primary of that name), sentinel_login (the sentinels refuse the login for
// sentinels) and replica (the Redis that they name is not a primary). In a Cluster also no_slots (no node has slots).
// The client retries after each of these errors.
//
// In a Cluster `connected`, `connect_failed` and `disconnected` are called for each node that has slots. Before the
// first slot map, failures of all nodes are reported.
//
// Codes of disconnected: disconnected, timeout (a reply was owed, and nothing came for 2 × the deadline), protocol,
// reconnect (a reply said that Redis is a replica, or refuses our login), switch_master (the sentinels name another
// primary).
struct Observer {
  std::function<void(const struct ServerInfo&)> connected;  // the handshake succeeded
  std::function<void(const Error&)> connect_failed;
  std::function<void(const Error&)> disconnected;  // only after connected; not after stop()
  // `endpoint`: the URL of the Redis without a password; with Sentinel the URL that names the sentinels.
  std::function<void(const std::string& endpoint, Breaker::State)> breaker_changed = {};
  std::function<void(const std::string& endpoint)> endpoint_added = {};  // its breaker is closed
  std::function<void(const std::string& endpoint)> endpoint_removed = {};
  std::function<void()> slots_changed = {};  // a slot map was read; it may be the same as before
  // Called for the first failure of a sentinel, and not again until that sentinel has answered.
  std::function<void(const Error&)> sentinel_failed = {};
  // The client has changed to a connection with new credentials. Called after `connected`.
  std::function<void(const ServerInfo&)> rotated = {};
  // The client keeps its connection and tries the new credentials again. Called for the first failure, for a failure
  // with another code than the last one, and otherwise every 10 s.
  std::function<void(const Error&)> rotation_failed = {};
  // The client sends a command again after this error reply: see Endpoint.
  std::function<void(const Reply&)> healed = {};
};
struct ServerInfo {
  std::string product;  // "redis", "valkey"
  std::string version;  // "7.0.15", "9.1.0"
  std::string role;     // "master", "slave"
  std::string maxmemory_policy;
  std::int64_t used_memory = 0;  // bytes
  std::int64_t maxmemory = 0;    // bytes; 0: no limit
  std::string run_id;            // new at each start of the server
  std::string address;           // the URL without a password; with Sentinel that of the primary
  bool in_cluster = false;
};

class Client {
 public:
  Client(boost::asio::io_context& context, Options options, Observer observer);  // the context outlives the client
  // All unfinished commands fail, including those that their handlers submit meanwhile. No callback comes later.
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  void start();  // connects, and reconnects with back-off until stop()
  // Before stop() returns, all unfinished commands fail with `disconnected`. Commands submitted inside or after stop()
  // fail with `unavailable`, from the loop. start() may be called again.
  void stop();
  bool ready() const;      // connected; in a Cluster: to every primary that has slots
  bool reachable() const;  // connected; in a Cluster: to at least one primary that has slots

  // The command waits while too many commands are in flight or the connection is being made. It fails with
  // `unavailable` while the client backs off or is stopped, and with `breaker_open` while the breaker is open.
  // `key`: one of the command's keys, which all have the same hash tag.
  void submit(Command& command, std::string_view key, const Terms& terms);
  // Sends a command again, within its deadline and ahead of the commands that wait. REQUIRES: called inside the
  // command's on_reply().
  void resubmit(Command& command, std::string_view key);
  // Resubmits after a pause of Endpoint::kPause. Returns false, and does not take the command, if its deadline would
  // pass meanwhile or if there is no connection.
  bool postpone(Command& command, std::string_view key);

  // Asks for the slot map soon, although nothing says that it has changed: so a client that sends little learns of new
  // primaries. Does nothing without a Cluster.
  void look_for_nodes();
  // The number, from 0, of the primary that has the key's slot; nullopt if no such primary is known. Without a
  // Cluster: 0.
  std::optional<std::size_t> node_of(std::string_view key) const;
  // Changes when the primary with this number gets or loses slots. Without a Cluster: 0.
  std::uint64_t slots_hash(std::size_t node) const;
  // The URL of the primary with this number, as Observer::breaker_changed names it.
  const std::string& endpoint(std::size_t node) const;
  bool in_cluster() const;
  // How many primaries have slots; without a Cluster: 1. A new slot map may number them differently.
  std::size_t nodes() const;

  Breaker::State breaker() const;  // in a Cluster the worst state of all nodes
  std::size_t unfinished() const;  // commands without a result yet
  std::size_t waiting() const;     // commands not sent yet
  std::size_t window() const;      // how many commands may be in flight
  // Whether Redis, or a node of the Cluster, answers but has more work than it can do at once.
  bool busy(std::chrono::steady_clock::time_point now) const;
  // Write calls since the client was created, handshakes included. One iteration of the event loop makes one write for
  // all its commands, more if the socket's buffer is full, and over TLS one for each 16 KiB.
  std::uint64_t writes() const;
  std::uint64_t redirects() const;  // commands that MOVED or ASK sent to another node

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;  // its pending timers hold it too
};

}  // namespace sluice::redis
