// A request as handlers see it and what they answer.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace sluice::http {

// Views are valid until the handler returns; what an asynchronous handler needs later it copies.
struct Request {
  std::string_view method;  // "GET", as sent
  std::string_view target;  // as sent
  std::string_view path;    // before '?', as sent (no decoding)
  std::string_view query;   // after '?'
  std::string_view peer;    // the client's IP address without port, "10.0.0.7" or "2001:db8::1"; "": a Unix socket
  std::span<char> body;     // may be written to: parsers work in place

  // The value of a header, "" when absent. Name in lower case. A repeated header's values are joined
  // by ", ", as RFC 9110 has it for lists; where one value is meant, such a list must not pass for it.
  virtual std::string_view header(std::string_view name) const = 0;

 protected:
  ~Request() = default;
};

using SharedBody = std::shared_ptr<const std::string>;

struct Response {
  unsigned status = 200;
  std::string_view content_type = "application/json";
  std::string_view headers = {};  // whole lines, each ending in "\r\n"
  std::string_view body = {};
  // Instead of `body`: sent from where it is, for what is large and goes to many. Kept alive until it is sent.
  SharedBody shared_body = {};

  std::string_view content() const { return shared_body ? std::string_view(*shared_body) : body; }
};

}  // namespace sluice::http
