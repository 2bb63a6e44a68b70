// A request that the HTTP server refuses itself, before any handler sees it.
#pragma once

#include <string_view>

namespace sluice::http {

struct Refusal {
  unsigned status = 400;
  std::string_view type;    // problem type, a string literal
  std::string_view detail;  // what is wrong and what to send instead, a string literal
  // Close the connection after the refusal: the client asked for that, or the end of the request is uncertain or too
  // expensive to find, so that the next bytes may not be a request.
  bool close = true;
};

// Broken framing: 400, and the connection ends.
constexpr Refusal bad_framing(std::string_view detail) { return {400, "/problems/framing", detail, true}; }

}  // namespace sluice::http
