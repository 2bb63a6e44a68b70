// An HTTP/1.1 server on one io_context: keep-alive, pipelining, replies in order, limits and time-outs.
//
// One read takes all bytes that have arrived, every request in them is handled, and one write sends all replies that
// are ready. Thread safety: none; a Server belongs to the thread of its io_context. N workers run N servers on one
// address (SO_REUSEPORT).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/types.h>
#include <boost/asio/io_context.hpp>

#include "common/base/error.hpp"
#include "common/http/message.hpp"
#include "common/http/stream.hpp"

namespace sluice::http {

class Certificates;
class ReplySink;  // receives the answers to the requests of one connection

// The right to answer one request, once. Movable. It may outlive the handler's call. If it outlives the connection too,
// the answer is dropped. If it is destroyed without an answer, it answers 500. Use it on the server's thread only.
class Reply {
 public:
  Reply(ReplySink* sink, std::uint64_t slot);
  Reply(Reply&& other) noexcept;
  Reply& operator=(Reply&& other) noexcept;
  ~Reply();

  void send(const Response& response);

  // Answers with a body that is sent piece by piece; the body in `head` is the first piece. `events` outlives the
  // Stream.
  Stream stream(const Response& head, StreamEvents& events);

 private:
  friend class Admission;

  ReplySink* sink_;
  std::uint64_t slot_;
};

// The right to decide, once, whether a large body is read. Like a Reply, it is movable and may be used later. If it is
// destroyed without a decision, it refuses with 500.
class Admission {
 public:
  explicit Admission(Reply reply) : reply_(std::move(reply)) {}

  void read_body();                       // reads the body; then handle() is called with a new Reply
  void refuse(const Response& response);  // answers, then closes the connection without reading the body

 private:
  Reply reply_;
};

// What a program implements to answer requests. All calls come from the server's thread.
class Handler {
 public:
  virtual ~Handler() = default;
  // The largest body in bytes for this method and path. Called when the headers of a request with a body are parsed.
  virtual std::size_t body_limit(std::string_view method, std::string_view path) const = 0;
  // Bytes. Bodies up to this size are read without asking. If body_limit() is higher, admit() is called before the
  // server reads a larger body, or one whose length is not known.
  static constexpr std::size_t kUnaskedBody = 1UL << 20;
  // Decides whether the body is read; the default implementation reads it. `head` is the request without its body; the
  // views in `head` are valid during the call.
  virtual void admit(Request& head, Admission admission);
  virtual void handle(Request& request, Reply reply) = 0;
};

struct ServerOptions {
  using Duration = std::chrono::milliseconds;  // time-outs come 0 to about 500 ms late, never early

  std::size_t max_header_bytes = 8192;    // larger request line and headers get 431; at most 65,535
  std::size_t max_connections = 20'000;   // further connections are closed at once, and counted as refused
  std::size_t max_handshakes = 1'000;     // TLS handshakes at a time; further connections are refused in the same way
  std::size_t max_pipelined = 16;         // unanswered requests on one connection before the server stops reading
  Duration handshake_timeout{10'000};     // TLS: from the connection to the end of the handshake; if late: close
  Duration header_timeout{10'000};        // from a request's first byte to the end of its headers; if late: 408, close
  Duration body_timeout{10'000};          // from the end of the headers to the end of the body; if late: 408, close
  Duration idle_timeout{75'000};          // between requests; if late: close without a reply
  Duration write_timeout{10'000};         // for one write; a client that does not read its replies is closed
  std::string_view refusal_headers = {};  // whole lines, added to the server's own refusals; a string literal
};

struct ServerStats {  // written by the server, read on the same thread
  std::uint64_t accepted = 0;
  std::uint64_t refused_connections = 0;  // closed at once: over a limit, or before there was a certificate
  std::uint64_t accept_errors = 0;        // no descriptor or no memory left; the listener then pauses
  std::uint64_t requests = 0;             // passed to the handler
  std::uint64_t bad_requests = 0;         // refused by the server itself: bad framing, over a limit, or too slow
  std::uint64_t open_connections = 0;
  std::uint64_t handshakes = 0;  // open connections whose handshake is not finished
  std::uint64_t open_streams = 0;
  // Handshakes that failed or timed out. Clients that left before they sent a byte are not counted.
  std::uint64_t tls_failures = 0;
};

// Permissions of a Unix socket's file: read and write for its owner and group.
inline constexpr mode_t kSocketMode = 0660;

class Server {
 public:
  Server(boost::asio::io_context& context, ServerOptions options, Handler& handler);
  ~Server();
  Server(const Server&) = delete;

  // Opens a listener and returns its port. `address` is "127.0.0.1:8088", "[::1]:8088" or "0.0.0.0:0"; port 0 picks a
  // free one. Errors: the address is in use, not permitted or malformed; the text names it.
  Result<std::uint16_t> listen_tcp(std::string_view address, bool reuse_port);
  // As listen_tcp(), with TLS. Each connection uses the certificate that is in force when it is accepted.
  Result<std::uint16_t> listen_tls(std::string_view address, bool reuse_port,
                                   std::shared_ptr<const Certificates> certificates);
  // Listens on a Unix socket at `path`. Removes a stale socket file first (one without a listener). The new file has
  // this mode, whatever the umask.
  Result<> listen_unix(const std::string& path, mode_t mode = kSocketMode);

  // Stops accepting, finishes all streams, closes idle connections and answers further requests with `Connection:
  // close`. Calls `drained` when the last connection is closed.
  void drain(std::function<void()> drained);
  void close_all();  // stops accepting, and closes all connections at once

  const ServerStats& stats() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sluice::http
