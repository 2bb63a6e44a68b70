// A client of one Redis, of the primary that Redis Sentinels name, or of a Redis Cluster: pipelined, with a deadline on
// every command. It has one connection to each Redis that it sends commands to. With Sentinel that is the primary: the
// client looks it up before each connect, and moves to the new primary after a failover. In a Cluster there is one
// connection to each primary (here: node), and the slot of a command's key decides which node gets the command.
//
// A turn of the loop is one iteration of the io_context's event loop.
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
  // The client notices within about a second that one of the files below has changed. It makes a second connection with
  // their new content, and moves to it when every reply that is owed on the old one has come: no command fails.
  std::string password_file;  // read at each connect; replaces target.password
  std::string login_file;     // two lines: user and password; read at each connect; replaces those of the target
  // The same two files for the sentinels, which never get the login above.
  std::string sentinel_password_file;
  std::string sentinel_login_file;
  std::string tls_ca_file;    // "": the authorities of the operating system
  std::string tls_cert_file;  // client certificate
  std::string tls_key_file;
  std::chrono::milliseconds deadline{25};           // of a command, from sending to the reply
  std::chrono::milliseconds queue_wait{25};         // how long a command may wait until it is sent
  std::chrono::milliseconds batch_queue_wait{450};  // the same for a command of a batch
  std::chrono::milliseconds connect_timeout{1000};
  std::chrono::milliseconds backoff_first{50};  // bound of the first, random pause; doubles up to backoff_max
  std::chrono::milliseconds backoff_max{1000};
  std::string client_name = "sluice-agent";
  std::span<const std::string_view> scripts =
      {};  // the texts of the scripts that commands call; loaded at each connect
};

// Callbacks for the state of the connection, called from the loop: for logs, metrics, and work that must follow a
// connect. They may call submit() and stop(), but must not destroy the client. No text holds a password.
// Codes of connect_failed: refused, unreachable, timeout, resolve, tls, no_login, credentials, authentication,
// permission, database, loading, busy, masterdown, too_old, no_scripts, denied, disconnected, protocol, cluster (the
// Redis is a node of a Cluster, but the URL names no Cluster) and no_cluster (the reverse). With Sentinel also
// unknown_primary (no sentinel watches a primary of that name), sentinel_login (the sentinels refuse the login for
// sentinels) and replica (the Redis that they name is not a primary). In a Cluster also no_slots (no node has slots).
// The client retries after each of these errors, because each can heal without a restart.
//
// In a Cluster `connected`, `connect_failed` and `disconnected` are called for each node that has slots. Before the
// first slot map, failures of all nodes are reported. The texts name the node.
//
// Codes of disconnected: disconnected, timeout (a reply was owed, and nothing came for 2 × the deadline), protocol,
// reconnect (a reply said that Redis is a replica, or refuses our login), switch_master (the sentinels name another
// primary).
struct Observer {
  // The handshake (AUTH, SELECT, CLIENT SETNAME, PING, INFO) succeeded: commands are sent from now on.
  std::function<void(const struct ServerInfo&)> connected;
  std::function<void(const Error&)> connect_failed;
  std::function<void(const Error&)> disconnected;  // only after connected; not after stop()
  // `endpoint`: the URL of the Redis without a password; with Sentinel the URL that names the sentinels.
  std::function<void(const std::string& endpoint, Breaker::State)> breaker_changed = {};
  // The client begins to use a Redis. Its breaker is closed.
  std::function<void(const std::string& endpoint)> endpoint_added = {};
  std::function<void(const std::string& endpoint)> endpoint_removed = {};
  std::function<void()> slots_changed = {};  // a slot map was read; it may be the same as before
  // One sentinel is lost or refuses to answer. Not called again for this sentinel before it has answered.
  std::function<void(const Error&)> sentinel_failed = {};
  // The client has changed to a connection with new credentials. Called after `connected`.
  std::function<void(const ServerInfo&)> rotated = {};
  // The new credentials do not work; the client keeps its connection and tries them again. Called for the first
  // failure, when the code changes, and every 10 s.
  std::function<void(const Error&)> rotation_failed = {};
  // An error reply that the command does not get, because the client sends the command again: see Endpoint.
  std::function<void(const Reply&)> healed = {};
};
struct ServerInfo {
  std::string product;  // "redis", "valkey"
  std::string version;  // of that product: "7.0.15", "9.1.0"
  std::string role;     // "master", "slave"
  std::string maxmemory_policy;
  std::string run_id;   // Redis draws a new one at each start
  std::string address;  // its URL without a password; with Sentinel that of the primary
  bool in_cluster = false;
};

class Client {
 public:
  Client(boost::asio::io_context& context, Options options, Observer observer);  // the context outlives the client
  // Stops as stop() does. Before it returns, all unfinished commands have failed, including those that their handlers
  // submit meanwhile. No callback comes later.
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  void start();  // connects, and reconnects with back-off until stop()
  // Closes the connections. Before it returns, all unfinished commands fail with `disconnected`. Commands submitted
  // inside or after stop() fail with `unavailable`, from the loop. start() may be called again.
  void stop();
  bool ready() const;      // connected; in a Cluster: to every primary that has slots
  bool reachable() const;  // connected; in a Cluster: to at least one primary that has slots

  // Sends a command. If the limit of commands in flight is reached, or the connection is being made, the command waits
  // first. All commands of one turn of the loop go out in one write for each node. While the client backs off or is
  // stopped, the command fails with `unavailable` in the next turn of the loop; while the breaker is open, with
  // `breaker_open`. `key`: one of the command's keys, which all have the same hash tag.
  void submit(Command& command, std::string_view key, const Terms& terms);
  // Sends a command again, within its deadline and ahead of the commands that wait. To be called from inside the
  // command's on_reply().
  void resubmit(Command& command, std::string_view key);
  // Does the same after a pause of Endpoint::kPause. Returns false, and does not take the command, if its deadline
  // would pass meanwhile or if there is no connection.
  bool postpone(Command& command, std::string_view key);

  // In a Cluster: the number of the primary that gets a command with this key; the primaries that have slots are
  // numbered from 0. nullopt: no node has the key's slot, or the slots are not known yet. Without a Cluster: 0.
  std::optional<std::size_t> node_of(std::string_view key) const;
  // A value that changes when the primary with this number gets or loses slots. Without a Cluster: 0.
  std::uint64_t slots_hash(std::size_t node) const;
  // How many primaries have slots; without a Cluster: 1. A new slot map may number them differently.
  std::size_t nodes() const;

  Breaker::State breaker() const;  // in a Cluster the worst state of all nodes
  std::size_t unfinished() const;  // commands without a result yet
  std::size_t waiting() const;     // unfinished commands that are not sent yet
  std::size_t window() const;      // how many commands may be in flight: sent and not answered yet
  // Successful write calls since the client was created, handshakes included: one for all commands of a turn of the
  // loop, more when the socket's buffer was full, and over TLS one for each 16 KiB.
  std::uint64_t writes() const;
  std::uint64_t redirects() const;  // commands that MOVED or ASK sent to another node, since the client was created

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;  // its pending timers hold it too
};

}  // namespace sluice::redis
