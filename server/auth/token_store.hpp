// Makes tokens and stores them as rows. Lists the live platform_admin tokens (neither revoked nor expired).
//
// Thread safety: none; everything runs in the caller's transaction and throws what libpqxx throws.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "server/auth/token_document.hpp"
#include "server/store/change_log.hpp"
#include "server/store/objects.hpp"

namespace sluice::server::auth {

struct MintedToken {
  store::StoredObject object;
  std::string text;  // "sla_…" or "slg_…"; stored nowhere
};

// Gives the token an id and a secret, stores it and records the change. The row holds a hash of the secret.
MintedToken insert_token(postgres::Transaction& tx, store::ChangeLog& log, TokenDocument token, TokenType type);

// Returns the ids of live platform_admin tokens, sorted. Locks their rows until the end of the transaction, so no other
// transaction can revoke one of these tokens meanwhile. REQUIRES: the transaction has entered Scope::everything().
std::vector<std::string> lock_platform_admins(postgres::Transaction& tx, std::int64_t now_us);

constexpr Kind kind_of(TokenType type) { return type == TokenType::admin ? Kind::token : Kind::agent_token; }

}  // namespace sluice::server::auth
