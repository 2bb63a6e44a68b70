// The documents of admin tokens and agent tokens: who it is, and how far it reaches. The secret is never here.
//
// Thread safety: pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.hpp"
#include "common/domain/plan.hpp"
#include "common/json/tree.hpp"
#include "server/auth/roles.hpp"

namespace sluice::server::auth {

struct TokenDocument {
  std::string id;
  std::string name;
  std::optional<Role> role;             // of admin tokens
  std::string organization_id;          // "": the platform
  std::vector<std::string> tenant_ids;  // none: all of the organization
  std::optional<WallTime> expires_at;
  bool revoked = false;

  bool operator==(const TokenDocument&) const = default;
};

enum class TokenType : std::uint8_t { admin, agent };

// What a body leaves out is as far as its giver reaches: `giver` fills organization_id and tenant_ids, never the role.
// Adds every fault of form to `faults`; whether what it names exists is for the caller to check.
TokenDocument read_token(const json::Value& body, TokenType type, const Principal& giver, Faults& faults);

// Canonical, compact.
std::string write_token(const TokenDocument& token);

// As read from the store. REQUIRES: written by write_token.
TokenDocument stored_token(std::string_view document, TokenType type);

// Whoever proves it. An agent token is like the lowest of roles.
Principal principal_of(const TokenDocument& token);

bool is_live(const TokenDocument& token, std::int64_t now_us);

}  // namespace sluice::server::auth
