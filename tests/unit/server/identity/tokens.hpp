// Tokens for tests: of the form of a signed one; nobody has signed them.
#pragma once

#include <string>
#include <string_view>

#include <fmt/core.h>

#include "common/base/crypto.hpp"

namespace sluice::server::test {

inline std::string part(std::string_view text) {
  return to_base64url({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
}

inline std::string token_of(std::string_view claims) {
  return fmt::format("{}.{}.{}", part(R"({"alg":"RS256","kid":"k"})"), part(claims), part("signature"));
}

}  // namespace sluice::server::test
