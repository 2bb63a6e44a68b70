// How the HTTP server answers a request that it refuses itself, without calling Handler::handle().
#pragma once

#include <string_view>

namespace sluice::http {

struct Refusal {
  unsigned status = 400;
  std::string_view type;    // problem type, a string literal
  std::string_view detail;  // what is wrong and what to send instead, a string literal
  // Close the connection after the refusal. Either the client asked to close it, or the next request cannot be found,
  // because the end of this one is uncertain or too far away.
  bool close = true;
};

// Broken framing: 400, and the connection ends.
constexpr Refusal bad_framing(std::string_view detail) { return {400, "/problems/framing", detail, true}; }

}  // namespace sluice::http
