// Escapes texts of the audit trail for a terminal. A manipulated trail may contain control characters.
#pragma once

#include <string>
#include <string_view>

#include "common/json/text.hpp"

namespace sluice::server::audit {

// Returns the text in quotes.
inline std::string escaped(std::string_view text) {
  std::string out;
  json::append_string(out, text);
  return out;
}

}  // namespace sluice::server::audit
