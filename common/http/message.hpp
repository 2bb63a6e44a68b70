// The request that a handler gets, and the response that it sends.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace sluice::http {

// Views are valid until the handler returns. Nothing is decoded.
struct Request {
  std::string_view method;
  std::string_view target;
  std::string_view path;
  std::string_view query;             // without the '?'
  std::string_view content_type;      // the last one, if the header is repeated; "" when absent
  std::string_view content_encoding;  // likewise
  std::string_view peer;       // the client's IP address without port, "10.0.0.7" or "2001:db8::1"; "" on Unix sockets
  std::span<char> body;        // may be written to, because parsers work in place
  std::shared_ptr<void> held;  // what Admission::read_body() got for this request

  // The value of a header, "" when absent. The values of a repeated header are joined by ", " (RFC 9110). A handler
  // must refuse such a list if it expects one value. REQUIRES: `name` is in lower case.
  virtual std::string_view header(std::string_view name) const = 0;

 protected:
  ~Request() = default;
};

using SharedBody = std::shared_ptr<const std::string>;

struct Response {
  unsigned status = 200;
  std::string_view content_type = "application/json";
  std::string_view headers = {};     // whole lines, each ending in "\r\n"
  std::string_view request_id = {};  // if not empty, the header X-Request-Id
  std::string_view body = {};
  // If set, it is sent instead of `body`. Above 16 KiB it is not copied.
  SharedBody shared_body = {};

  std::string_view content() const { return shared_body ? std::string_view(*shared_body) : body; }
};

}  // namespace sluice::http
