// An HTTP/1.1 server on one io_context: keep-alive, pipelining, replies in order, limits and time-outs.
//
// Thread: one Server belongs to one worker's io_context; nothing is locked. N workers run N servers on one address
// (SO_REUSEPORT).
// How it is quick: one read takes what is there, every request in it is handled, one write sends all replies that are
// ready.
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
class ReplySink;  // a connection's place for one reply

// The right to answer one request, once. Movable; may outlive the handler's call and the connection (then it is thrown
// away). Destroyed unsent it answers 500. Use only on the server's thread.
class Reply {
 public:
  Reply(ReplySink* sink, std::uint64_t slot);
  Reply(Reply&& other) noexcept;
  Reply& operator=(Reply&& other) noexcept;
  ~Reply();

  void send(const Response& response);

  // Answers with a body whose pieces come later; a body that `head` has is the first of them. `events` outlives the
  // Stream.
  Stream stream(const Response& head, StreamEvents& events);

 private:
  friend class Admission;

  ReplySink* sink_;
  std::uint64_t slot_;
};

// The right to say, once, whether a large body is read at all. As a Reply: movable, may come late, refuses with 500
// where nobody says anything.
class Admission {
 public:
  explicit Admission(Reply reply) : reply_(std::move(reply)) {}

  void read_body();                       // handle() gets the request, with a Reply of its own
  void refuse(const Response& response);  // and the connection closes: nobody reads what is on its way

 private:
  Reply reply_;
};

class Handler {
 public:
  virtual ~Handler() = default;
  // The largest body this method and path take, in bytes; asked once the header is parsed.
  virtual std::size_t body_limit(std::string_view method, std::string_view path) const = 0;
  // A path that takes more than this is asked before it gets more, or a body that does not tell its length.
  static constexpr std::size_t kUnaskedBody = 1UL << 20;
  // `head` is a request without its body; its views are valid until this returns.
  virtual void admit(Request& head, Admission admission);
  virtual void handle(Request& request, Reply reply) = 0;
};

struct ServerOptions {
  using Duration = std::chrono::milliseconds;  // kept to about a quarter of a second, never early

  std::size_t max_header_bytes = 8192;    // 431 above; at most 65,535
  std::size_t max_connections = 20'000;   // above: accepted and closed at once, counted
  std::size_t max_handshakes = 1'000;     // TLS: connections still shaking hands; above: closed at once, counted
  std::size_t max_pipelined = 256;        // unanswered requests on one connection before it stops reading
  Duration handshake_timeout{10'000};     // TLS: from the connection to the end of the handshake: closed
  Duration header_timeout{10'000};        // from the first byte of a request to the end of its header: 408, close
  Duration body_timeout{10'000};          // from there to the end of the body: 408, close
  Duration idle_timeout{75'000};          // between requests: closed without a word
  Duration write_timeout{10'000};         // a client that does not read its replies is closed
  std::string_view refusal_headers = {};  // whole lines for the server's own refusals; of static storage
};

struct ServerStats {  // counted by the server, read by metrics on the same thread
  std::uint64_t accepted = 0;
  std::uint64_t refused_connections = 0;
  std::uint64_t accept_errors = 0;  // out of descriptors or memory: accepting paused for a moment
  std::uint64_t requests = 0;       // handed to the handler
  std::uint64_t bad_requests = 0;   // refused by framing or limits
  std::uint64_t open_connections = 0;
  std::uint64_t handshakes = 0;  // of these, still shaking hands
  std::uint64_t open_streams = 0;
  // Handshakes that failed or took too long. A client that leaves without having sent a byte is none of them.
  std::uint64_t tls_failures = 0;
};

// Of a Unix socket: its owner and its group.
inline constexpr mode_t kSocketMode = 0660;

class Server {
 public:
  Server(boost::asio::io_context& context, ServerOptions options, Handler& handler);
  ~Server();
  Server(const Server&) = delete;

  // Opens a listener. Errors: address in use, not permitted, malformed; the text names the address.
  // `address` is "127.0.0.1:8088", "[::1]:8088" or "0.0.0.0:0" (port 0: any free one; the result says which).
  Result<std::uint16_t> listen_tcp(std::string_view address, bool reuse_port);
  // The same with TLS. Each connection takes the certificate that is in force when it comes.
  Result<std::uint16_t> listen_tls(std::string_view address, bool reuse_port,
                                   std::shared_ptr<const Certificates> certificates);
  // Removes a stale socket file first (one nobody answers on); the new one has this mode, whatever the umask.
  Result<> listen_unix(const std::string& path, mode_t mode = kSocketMode);

  // Stops accepting, answers `Connection: close` to what comes on open connections, finishes all streams, closes what
  // is idle, and calls `drained` when the last is closed.
  void drain(std::function<void()> drained);
  void close_all();

  const ServerStats& stats() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sluice::http
