// One worker's connection to one Redis: pipelined, with a deadline on every command.
//
// Thread: everything happens on the io_context given; nothing is locked.
// Invariant: replies are paired with commands in order. A command whose deadline passed keeps its slot, abandoned, and
// its late reply is read and thrown away.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <boost/asio/io_context.hpp>

#include "common/base/error.hpp"
#include "common/redis/command_writer.hpp"
#include "common/redis/reply.hpp"

namespace sluice::redis {

// Where and how to connect. parse_endpoint reads redis://[user:pass@]host[:port][/db], rediss://…, unix:PATH[?db=N].
struct Endpoint {
  enum class Transport : std::uint8_t { tcp, tls, unix_socket };
  Transport transport = Transport::tcp;
  std::string host = "127.0.0.1";
  std::uint16_t port = 6379;
  std::string path;  // unix_socket
  std::string user;  // ACL user; "" is the default user
  std::string password;
  std::uint32_t database = 0;
};
Result<Endpoint> parse_endpoint(std::string_view url);
std::string to_string(const Endpoint& endpoint);  // without the password

struct Options {  // all durations > 0
  Endpoint endpoint;
  std::string password_file;  // read at each connect; replaces endpoint.password
  std::string login_file;     // user and password, a line each; read at each connect, replaces those of the endpoint
  std::string tls_ca_file;    // "": the system's
  std::string tls_cert_file;  // client certificate
  std::string tls_key_file;
  std::chrono::milliseconds deadline{25};
  std::chrono::milliseconds connect_timeout{1000};
  std::chrono::milliseconds backoff_first{50};  // full jitter, doubling to backoff_max
  std::chrono::milliseconds backoff_max{1000};
  std::string client_name = "sluice-agent";
};

// Why a command has no reply. `executed_unknown`: it was sent, so it may have run; else it has not run and never will.
// `unavailable` is always, `timeout` and `disconnected` are sometimes, of a command that was not sent.
enum class FailureKind : std::uint8_t { timeout, disconnected, unavailable, protocol };
struct Failure {
  FailureKind kind = FailureKind::disconnected;
  bool executed_unknown = false;
};

// Told exactly once, from the loop: by on_reply or by on_failure, never inside begin(). It must live until then, and
// may be gone as soon as it was told. Either may call begin(), reconnect() and stop(); it must not destroy the client.
class ReplyHandler {
 public:
  virtual void on_reply(const Reply& reply) = 0;  // the reply's memory is valid during the call only
  virtual void on_failure(Failure failure) = 0;

 protected:
  ~ReplyHandler() = default;
};

// Told of what happens to the connection, from the loop; for logs, metrics and the wiring of what must follow a
// connect. They may call begin(), reconnect() and stop(); they must not destroy the client. No text holds a password.
// Codes of connect_failed: refused, unreachable, timeout, resolve, tls, no_login, credentials, authentication,
// permission, database, loading, busy, masterdown, too_old, denied, disconnected, protocol. All of them are tried
// again, as all can heal. Codes of disconnected: disconnected, timeout (a reply owed for more than 2 × the deadline),
// protocol, reconnect.
struct Observer {
  // After the handshake (AUTH, SELECT, CLIENT SETNAME, INFO: version ≥ 7 and maxmemory-policy): the connection is
  // ready.
  std::function<void(const struct ServerInfo&)> connected;
  std::function<void(const Error&)> connect_failed;
  std::function<void(const Error&)> disconnected;  // after connected, not after stop()
};
struct ServerInfo {
  std::string product;  // "redis", "valkey"
  std::string version;  // of the protocol's implementation: "7.0.15", "9.1.0"
  std::string role;     // "master", "slave"
  std::string maxmemory_policy;
  std::string run_id;  // another one after each start of the server
};

class Client {
 public:
  Client(boost::asio::io_context& context, Options options, Observer observer);  // the context outlives the client
  // As stop(), and nothing is called after it: what its handlers begin meanwhile is told before it returns.
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  void start();  // connects, and reconnects with backoff until stop()
  // Drops the connection. All handlers in flight are told `disconnected` before it returns, and nothing is called after
  // it, except the handlers of commands begun after (or inside) it: `unavailable`, from the loop. start() is possible.
  void stop();
  bool ready() const;

  // Begins one command and its slot: write exactly one RESP array into the returned writer before returning to the
  // loop. It is sent with whatever else is waiting, in one write at the end of this turn of the loop. The deadline runs
  // from now. While the connection is being made the command waits for it inside its deadline; while it is known to be
  // down (backing off) the handler is told `unavailable` from the loop, at once.
  CommandWriter& begin(ReplyHandler& handler);

  // As begin(), for a command that shall end at `deadline` instead (a resend inside the first deadline).
  CommandWriter& begin(ReplyHandler& handler, std::chrono::steady_clock::time_point deadline);

  // Drops the connection and makes it anew (a demoted primary, changed credentials); those in flight are told
  // `disconnected` from the loop. Does nothing where a new connection is being made already: many handlers may ask for
  // it.
  void reconnect();

  std::size_t in_flight() const;  // commands whose handlers were not told yet
  // How often the kernel took bytes for Redis since the client was made, greetings included. One for all commands of a
  // turn of the loop, unless the socket's buffer was full; over TLS one for each 16 KiB.
  std::uint64_t writes() const;

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;  // shared with its own pending timers
};

}  // namespace sluice::redis
