// Tokens as rows: making them, and who holds the keys to the whole.
//
// Thread safety: none; works in its caller's transaction. Everything throws what libpqxx throws.
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
  std::string text;  // "sla_…" or "slg_…": kept nowhere
};

// Gives the token an id and a secret, stores it and records it. The row keeps a hash of the secret beside the document.
MintedToken insert_token(postgres::Transaction& tx, store::ChangeLog& log, TokenDocument token, TokenType type);

// The ids of platform_admin tokens that open something now, locked until the end of the transaction, in the order of
// ids: nobody else revokes one meanwhile. Needs the scope of everything to be true.
std::vector<std::string> lock_platform_admins(postgres::Transaction& tx, std::int64_t now_us);

constexpr Kind kind_of(TokenType type) { return type == TokenType::admin ? Kind::token : Kind::agent_token; }

}  // namespace sluice::server::auth
