// How the HTTP server refuses a request without calling Handler::handle().
#pragma once

#include <string_view>

namespace sluice::http {

struct Refusal {
  unsigned status = 400;
  std::string_view type;    // a string literal
  std::string_view detail;  // a string literal
  // Whether the connection closes after the refusal.
  bool close = true;
};

constexpr Refusal bad_framing(std::string_view detail) { return {400, "/problems/framing", detail, true}; }

}  // namespace sluice::http
