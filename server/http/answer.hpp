// An answer as it is made by a route: all of it in memory.
#pragma once

#include <string>
#include <string_view>

namespace sluice::server::http {

struct Answer {
  unsigned status = 200;
  std::string body;
  std::string headers;  // whole lines
  std::string_view content_type = "application/json";
};

}  // namespace sluice::server::http
