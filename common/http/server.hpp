// An HTTP/1.1 server on one io_context: keep-alive, pipelining, replies in order, limits and time-outs.
//
// Thread safety: none; a Server belongs to the thread of its io_context. N workers run N servers on one address
// (SO_REUSEPORT).
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/types.h>
#include <boost/asio/io_context.hpp>

#include "common/base/error.hpp"
#include "common/http/message.hpp"
#include "common/http/peer_watcher.hpp"
#include "common/http/refusal.hpp"
#include "common/http/stream.hpp"

namespace sluice::http {

class Certificates;
class ClientAuthorities;
class ReplySink;

// The right to answer one request, once. A Reply may outlive the handler's call. If it outlives the connection, the
// answer is dropped. If it is destroyed without an answer, it answers 500. Use it on the server's thread only.
class Reply {
 public:
  Reply(ReplySink* sink, std::uint64_t slot);
  Reply(Reply&& other) noexcept;
  Reply& operator=(Reply&& other) noexcept;
  ~Reply();

  void send(const Response& response);

  // Returns false if the client has left already. REQUIRES: `watcher` lives until it is called or the request is
  // answered.
  bool watch_peer(PeerWatcher& watcher);

  // The body in `head` is the first piece. REQUIRES: `events` outlives the Stream.
  Stream stream(const Response& head, StreamEvents& events);

 private:
  friend class Admission;

  ReplySink* sink_;
  std::uint64_t slot_;
};

// The right to decide, once, whether a large body is read. Like a Reply, it may be used later. If it is destroyed
// without a decision, it refuses with 500.
class Admission {
 public:
  explicit Admission(Reply reply) : reply_(std::move(reply)) {}

  // handle() follows with a new Reply, unless the body has more than `limit` bytes or does not arrive. The connection
  // keeps `held` for Request::held until then, or until it closes.
  void read_body(std::shared_ptr<void> held = {}, std::size_t limit = std::numeric_limits<std::size_t>::max());
  void refuse(const Response& response);  // closes the connection without reading the body

 private:
  Reply reply_;
};

// What a program implements to answer requests. All calls come from the server's thread.
class Handler {
 public:
  virtual ~Handler() = default;
  // In bytes.
  virtual std::size_t body_limit(std::string_view method, std::string_view path) const = 0;
  // Whether the path answers the method. A request without the length that its method needs is 411 only where it would
  // be answered; elsewhere handle() gets it without a body, for a 404 or a 405.
  virtual bool answers(std::string_view /*method*/, std::string_view /*path*/) const { return true; }
  // Bytes. If body_limit() is higher, the server calls admit() before it reads a body that is larger than kUnaskedBody
  // or has an unknown length.
  static constexpr std::size_t kUnaskedBody = 64UL << 10;
  // The default implementation reads the body. The views in `head` are valid during the call.
  virtual void admit(Request& head, Admission admission);
  virtual void handle(Request& request, Reply reply) = 0;
  // The server has refused a request by itself.
  virtual void refused(const Refusal&) {}
};

struct ServerOptions {
  using Duration = std::chrono::milliseconds;  // time-outs come 0 to about 500 ms late, never early

  std::size_t max_header_bytes = 8192;   // for request line and headers together, otherwise 431; at most 65,535
  std::size_t max_connections = 20'000;  // further connections are closed at once
  std::size_t max_handshakes = 1'000;    // TLS handshakes at a time; further connections are closed at once
  std::size_t max_pipelined = 16;        // unanswered requests on one connection before the server stops reading
  // Bytes of replies that wait to be sent, of all connections together. While there are more, a connection whose client
  // does not read its replies is closed.
  std::size_t max_waiting_output = std::numeric_limits<std::size_t>::max();
  Duration handshake_timeout{10'000};     // from the connection to the end of the TLS handshake
  Duration header_timeout{10'000};        // from a request's first byte to the end of its headers, otherwise 408
  Duration body_timeout{10'000};          // from the end of the headers to the end of the body, otherwise 408
  Duration idle_timeout{75'000};          // between requests
  Duration write_timeout{10'000};         // for one write
  std::string_view refusal_headers = {};  // whole lines, added to the server's own refusals; a string literal
};

struct ServerStats {  // read it on the server's thread
  std::uint64_t accepted = 0;
  std::uint64_t refused_connections = 0;  // closed at once: over a limit, or no certificate was loaded yet
  std::uint64_t accept_errors = 0;        // no descriptor or no memory left
  std::uint64_t requests = 0;             // passed to the handler
  std::uint64_t bad_requests = 0;         // refused by the server itself
  std::uint64_t open_connections = 0;
  std::uint64_t handshakes = 0;  // under way
  std::uint64_t open_streams = 0;
  // Handshakes that failed or timed out, also for want of a good client certificate. Clients that left before they sent
  // a byte are not counted.
  std::atomic<std::uint64_t> tls_failures{0};  // may be read on any thread
  std::uint64_t waiting_output = 0;            // bytes of replies that wait to be sent
  std::uint64_t slow_readers = 0;              // connections closed because of ServerOptions::max_waiting_output
};

// Read and write for owner and group.
inline constexpr mode_t kSocketMode = 0660;

class Server {
 public:
  Server(boost::asio::io_context& context, ServerOptions options, Handler& handler);
  ~Server();
  Server(const Server&) = delete;

  // Returns the port. `address` is "127.0.0.1:8088" or "[::1]:8088"; port 0 picks a free one. Errors:
  // address_malformed, address_in_use, address_not_permitted, listen_failed.
  Result<std::uint16_t> listen_tcp(std::string_view address, bool reuse_port);
  // Each connection uses what is in force when it is accepted. `clients`: the authorities of the clients that are
  // admitted; nullptr: clients need no certificate.
  Result<std::uint16_t> listen_tls(std::string_view address, bool reuse_port,
                                   std::shared_ptr<const Certificates> certificates,
                                   std::shared_ptr<const ClientAuthorities> clients = nullptr);
  // Replaces a socket file that has no listener. The new file has the mode `mode`, whatever the umask.
  Result<> listen_unix(const std::string& path, mode_t mode = kSocketMode);

  // Stops accepting, finishes all streams, closes idle connections and answers further requests with `Connection:
  // close`. Calls `drained` when the last connection is closed.
  void drain(std::function<void()> drained);
  void close_all();  // also stops accepting

  // Starts again what has stopped because an allocation failed: accepting, and the timer of the connections. Call it a
  // few times a second. Throws std::bad_alloc.
  void mend();

  const ServerStats& stats() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sluice::http
