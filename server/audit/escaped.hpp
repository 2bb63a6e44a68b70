// Escapes texts of the audit trail for output. A manipulated trail may hold anything.
//
// Thread safety: pure.
#pragma once

#include <string>
#include <string_view>

#include "common/json/text.hpp"

namespace sluice::server::audit {

// Returns the text in quotes, with control characters escaped.
inline std::string escaped(std::string_view text) {
  std::string out;
  json::append_string(out, text);
  return out;
}

}  // namespace sluice::server::audit
