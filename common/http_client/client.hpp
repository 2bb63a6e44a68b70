// An HTTP/1.1 client of one server: one request at a time, on one connection that is kept while it can be.
//
// Thread: everything happens on the io_context given; nothing is locked. Who wants two requests at once has two Clients
// (a watch has one of its own). It does not try again by itself, except once where a kept connection turns out to have
// been closed by the server and the request may be repeated; back-off is its user's.
// What it takes is strict, as it is on the server's side: a response two readers could understand differently fails.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "common/base/error.hpp"
#include "common/http_client/url.hpp"
#include "common/net/tls.hpp"

namespace sluice::http_client {

struct Options {
  using Duration = std::chrono::milliseconds;  // each > 0

  Url server = {};
  net::TlsFiles tls = {};           // of https; read at each connect, so that renewed ones count
  Duration connect_timeout{5'000};  // the name's lookup, TCP and TLS together
  // From the request's last bytes (each part of it that leaves begins it anew) to the end of the response's head.
  Duration head_timeout{10'000};
  Duration idle_timeout{10'000};        // between bytes of a body
  std::size_t max_head_bytes = 16'384;  // at most 65,535
  std::string user_agent = "sluice";
};

struct Request {
  std::string method = "GET";                                    // not HEAD, not CONNECT
  std::string target = "/";                                      // path and query, as they are sent
  std::string bearer = {};                                       // the token of an Authorization header; "": none
  std::vector<std::pair<std::string, std::string>> fields = {};  // further ones, none of those that are sent anyway
  std::string content_type = "application/json";                 // of a body
  std::string body = {};
  std::size_t max_body = 1UL << 20;           // of the response, decoded, in bytes; with on_line: of one line
  std::chrono::milliseconds idle_timeout{0};  // instead of the client's; 0: the client's
  // Set: the body of a 200 is told line by line (without its end, "\n" or "\r\n") as it comes, and is not kept; such a
  // response is not asked for in gzip. Of other statuses the body is kept as always. May cancel() the client, or
  // destroy it.
  std::function<void(std::string_view line)> on_line = {};
};

struct Response {
  unsigned status = 0;
  std::vector<std::pair<std::string, std::string>> fields;  // names in lower case
  std::string body;                                         // decoded

  std::string_view header(std::string_view name) const;  // the first of that name, which is lower case; "": none
};

// Told once, from the loop; may ask() again, cancel(), or destroy the client. With on_line: when the body has ended.
// Errors: request (something in it cannot be sent); resolve, refused, unreachable, tls: there was no connection;
// timeout; disconnected: the connection broke before the response was whole (whether the server acted on the request is
// not known); framing: the response is not HTTP/1.1 as it must be; encoding: its gzip is damaged, or it is in another
// coding; too_large: head, body or line. The text names the server and what was being done.
using Done = std::function<void(Result<Response>)>;

class Client {
 public:
  Client(boost::asio::io_context& context, Options options);
  ~Client();  // as cancel()
  Client(const Client&) = delete;

  void ask(Request request, Done done);  // REQUIRES: not busy()
  void cancel();                         // drops the request, and its connection; nobody is told
  bool busy() const;                     // a request was asked and not told yet
  void close_idle();                     // closes the kept connection, if nothing is under way on it

  // Connections made so far, for tests and metrics.
  std::uint64_t connects() const;

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace sluice::http_client
