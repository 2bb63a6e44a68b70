// The answer of a route to one request, with its whole body in memory.
#pragma once

#include <string>
#include <string_view>

namespace sluice::server::http {

struct Answer {
  unsigned status = 200;
  std::string body;
  std::string headers;  // complete header lines, each with its CRLF
  std::string_view content_type = "application/json";
};

}  // namespace sluice::server::http
