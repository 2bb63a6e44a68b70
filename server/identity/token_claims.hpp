// Reads the claims of a JSON web token (RFC 7519) without verifying them. Unverified claims are a reason to refuse a
// token early or to limit its lifetime, but never a reason to accept it.
//
// Thread safety: pure functions.
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
