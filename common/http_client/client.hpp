// An HTTP/1.1 client for one server: one request at a time, on one connection that is kept alive between requests.
//
// Thread safety: none. All calls and callbacks happen on the thread that runs the io_context.
// The client retries once, and only if the server had closed a kept connection and the method is idempotent. The caller
// does the back-off.
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
#include "common/net/dialer.hpp"
#include "common/net/tls.hpp"

namespace sluice::http_client {

struct Options {
  using Duration = std::chrono::milliseconds;  // all durations below must be > 0

  Url server = {};
  net::TlsFiles tls = {};               // read at each connect, so that renewed files are used
  Duration connect_timeout{5'000};      // name lookup, TCP and TLS together
  Duration head_timeout{10'000};        // from the last sent part of the request to the end of the response's head
  Duration idle_timeout{10'000};        // between two reads of a body
  std::size_t max_head_bytes = 16'384;  // at most 65,535
  std::string user_agent = "sluice";
  net::AddressCheck check_address = {};  // empty: any address of the server will do
};

struct Request {
  std::string method = "GET";                                    // not HEAD, not CONNECT
  std::string target = "/";                                      // path and query, already percent-encoded
  std::string bearer = {};                                       // for an Authorization header; "": no header
  std::vector<std::pair<std::string, std::string>> fields = {};  // further headers
  std::string content_type = "application/json";                 // sent only with a body
  std::string body = {};
  // The most bytes of the decoded response body, or of each line if on_line gets the body.
  std::size_t max_body = 1UL << 20;
  std::chrono::milliseconds idle_timeout{0};  // 0: Options::idle_timeout
  // If set, it is called for each line in the body of a 200 response as the line arrives, without the line end ("\n" or
  // "\r\n"). Such a body is not stored. The function may cancel() or destroy the client.
  std::function<void(std::string_view line)> on_line = {};
};

struct Response {
  unsigned status = 0;
  std::vector<std::pair<std::string, std::string>> fields;  // names in lower case
  std::string body;                                         // decoded

  // The value of the first header with that name, or "". REQUIRES: `name` is in lower case.
  std::string_view header(std::string_view name) const;
};

// Called once, from the io_context, when the response is complete or the request has failed. May send() the next
// request, cancel(), or destroy the client. Codes of errors:
//   request                                 the request cannot be sent as it is
//   resolve, refused, unreachable, tls      no connection could be opened; also the codes of Options::check_address
//   timeout                                 a time limit of Options or Request has passed
//   disconnected                            the connection broke before the response was complete
//   framing                                 the response is not valid HTTP/1.1
//   encoding                                damaged gzip, or another content coding
//   too_large                               the head, the body or a line is above its limit
using Done = std::function<void(Result<Response>)>;

class Client {
 public:
  Client(boost::asio::io_context& context, Options options);
  ~Client();  // Done is not called
  Client(const Client&) = delete;

  void send(Request request, Done done);  // REQUIRES: not busy()
  void cancel();                          // drops the request and its connection; Done is not called
  bool busy() const;
  void close_idle();  // closes the kept connection; does nothing while busy()

  std::uint64_t connects() const;  // how often the client has begun to open a connection

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace sluice::http_client
