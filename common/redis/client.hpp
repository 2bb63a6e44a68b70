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
  std::string path;      // unix_socket
  std::string user;      // ACL user; "" is the default user
  std::string password;
  std::uint32_t database = 0;
};
Result<Endpoint> parse_endpoint(std::string_view url);
std::string to_string(const Endpoint& endpoint);  // without the password

struct Options {
  Endpoint endpoint;
  std::string password_file;  // read at each connect; replaces endpoint.password
  std::string tls_ca_file;    // "": the system's
  std::string tls_cert_file;  // client certificate
  std::string tls_key_file;
  std::chrono::milliseconds deadline{25};
  std::chrono::milliseconds connect_timeout{1000};
  std::chrono::milliseconds backoff_first{50};   // full jitter, doubling to backoff_max
  std::chrono::milliseconds backoff_max{1000};
  std::string client_name = "sluice-agent";
};

// Why a command has no reply. `executed_unknown`: it was sent, so it may have run.
enum class FailureKind : std::uint8_t { timeout, disconnected, unavailable, protocol };
struct Failure {
  FailureKind kind = FailureKind::disconnected;
  bool executed_unknown = false;
};

class ReplyHandler {
 public:
  virtual void on_reply(const Reply& reply) = 0;  // the reply's memory is valid during the call only
  virtual void on_failure(Failure failure) = 0;

 protected:
  ~ReplyHandler() = default;
};

// Told of what happens to the connection; for logs, metrics and the wiring of what must follow a connect.
struct Observer {
  // After the handshake (AUTH, SELECT, CLIENT SETNAME, INFO: version ≥ 7 and maxmemory-policy): the connection is ready.
  std::function<void(const struct ServerInfo&)> connected;
  std::function<void(const Error&)> connect_failed;   // code: refused, timeout, authentication, too_old, loading, …
  std::function<void(const Error&)> disconnected;
};
struct ServerInfo {
  std::string product;  // "redis", "valkey"
  std::string version;  // of the protocol's implementation: "7.0.15", "9.1.0"
  std::string role;     // "master", "slave"
  std::string maxmemory_policy;
};

class Client {
 public:
  Client(boost::asio::io_context& context, Options options, Observer observer);
  ~Client();  // all handlers in flight get `disconnected`
  Client(const Client&) = delete;

  void start();  // connects, and reconnects with backoff until stop()
  void stop();
  bool ready() const;

  // Begins one command and its slot: write exactly one RESP array into the returned writer before returning to the loop.
  // It is sent with whatever else is waiting, in one write at the end of this turn of the loop. The deadline runs from now.
  // While the connection is being made the command waits for it inside its deadline; while it is known to be down
  // (backing off) the handler is told `unavailable` from the loop, at once.
  CommandWriter& begin(ReplyHandler& handler);

  // As begin(), for a command that shall end at `deadline` instead (a resend inside the first deadline).
  CommandWriter& begin(ReplyHandler& handler, std::chrono::steady_clock::time_point deadline);

  // Drops the connection and makes it anew (a demoted primary, changed credentials).
  void reconnect();

  std::size_t in_flight() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sluice::redis
