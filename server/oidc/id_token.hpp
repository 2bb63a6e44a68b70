// Checks an ID token (OpenID Connect Core 1.0, section 3.1.3.7): its signature, for whom it is, and when.
//
// Only signatures that the provider's public keys verify are taken: RS, PS and ES with SHA-256, -384 or -512. `none`
// and the HMAC algorithms are refused, whatever the key set has.
//
// Pure functions: any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.hpp"
#include "server/oidc/key_set.hpp"
#include "server/sessions/session_store.hpp"

namespace sluice::server::oidc {

inline constexpr std::size_t kMaxTokenBytes = 64 << 10;
inline constexpr std::size_t kMaxSubjectBytes = 255;  // OpenID Connect Core 1.0, section 2
inline constexpr std::size_t kMaxNameBytes = 256;     // of name and e-mail; longer ones are cut
inline constexpr std::int64_t kClockSkewSeconds = 60;

struct Expected {
  std::string issuer;
  std::string client_id;
  std::string nonce;
  std::string groups_claim;
  std::int64_t now_us = 0;  // Unix time
};

struct Identity {
  sessions::Person person;
  std::vector<std::string> groups;  // those that a mapping can name; the claim may be a list or one text
  bool has_groups_claim = false;
};

// Errors: `malformed`, `algorithm`, `unknown_key` (the key set may be older than the key), `signature`, `claims`. The
// texts quote nothing of the token.
Result<Identity> check_id_token(std::string_view token, const KeySet& keys, const Expected& expected);

}  // namespace sluice::server::oidc
