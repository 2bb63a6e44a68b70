// Reads the claims of a JSON web token (RFC 7519) without verifying them. Unverified claims must never be a reason to
// accept a token.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/domain/plan.hpp"

namespace sluice::server::identity {

struct TokenClaims {
  std::vector<std::string> audiences;
  std::optional<WallTime> expires_at;

  bool is_for(std::string_view audience) const;
};

// Returns nullopt if the text is not a signed token: three parts in base64url, the first two JSON objects.
std::optional<TokenClaims> read_claims(std::string_view token);

}  // namespace sluice::server::identity
