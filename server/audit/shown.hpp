// Texts of the audit trail in what people read: a trail that somebody tampered with may hold anything.
//
// Thread safety: pure.
#pragma once

#include <string>
#include <string_view>

#include "common/json/text.hpp"

namespace sluice::server::audit {

// In quotes, with everything escaped that a terminal would obey.
inline std::string shown(std::string_view text) {
  std::string out;
  json::append_string(out, text);
  return out;
}

}  // namespace sluice::server::audit
