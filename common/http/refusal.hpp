// A request the server itself turns down, before any handler sees it.
#pragma once

#include <string_view>

namespace sluice::http {

struct Refusal {
  unsigned status = 400;
  std::string_view type;    // problem type, a string literal
  std::string_view detail;  // what is wrong and what to send instead, a string literal
  // Where the request ends is not certain (or finding out costs too much): nothing after it can be believed.
  bool close = true;
};

// Broken framing: 400, and the connection ends.
constexpr Refusal bad_framing(std::string_view detail) { return {400, "/problems/framing", detail, true}; }

}  // namespace sluice::http
