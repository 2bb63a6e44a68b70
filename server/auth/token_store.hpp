// Makes tokens and stores them as rows. The functions throw what libpqxx throws.
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

// Gives the token an id and a secret. The row holds only a hash of the secret.
MintedToken insert_token(postgres::Transaction& tx, store::ChangeLog& log, TokenDocument token, TokenType type);

// Returns the ids of live platform_admin tokens (neither revoked nor expired), sorted. Locks their rows until the end
// of the transaction. REQUIRES: the transaction has entered Scope::everything().
std::vector<std::string> lock_platform_admins(postgres::Transaction& tx, std::int64_t now_us);

constexpr Kind kind_of(TokenType type) { return type == TokenType::admin ? Kind::token : Kind::agent_token; }

}  // namespace sluice::server::auth
