#include "server/auth/token_store.hpp"

#include <pqxx/pqxx>

#include "common/domain/credential.hpp"

namespace sluice::server::auth {

MintedToken insert_token(postgres::Transaction& tx, store::ChangeLog& log, TokenDocument token, TokenType type) {
  const Kind kind = kind_of(type);
  const CredentialKind credential =
      type == TokenType::admin ? CredentialKind::admin_token : CredentialKind::agent_token;
  token.id = store::random_id(kind);
  std::string text = mint_key(token.id, credential);
  const std::string hash = hash_secret(split_key(text, credential)->secret);
  store::StoredObject made = store::insert(tx, {.kind = kind, .tenant_id = {}, .id = token.id}, token.organization_id,
                                           write_token(token), {{"secret_hash", "text", hash}});
  log.inserted("create", made);
  return {.object = std::move(made), .text = std::move(text)};
}

std::vector<std::string> lock_platform_admins(postgres::Transaction& tx, std::int64_t now_us) {
  const pqxx::result rows = tx.exec_text(
      "SELECT id, document FROM tokens WHERE organization_id = '' AND document ->> 'role' = 'platform_admin' ORDER BY "
      "id "
      "FOR UPDATE");
  std::vector<std::string> ids;
  for (const auto& row : rows) {
    if (is_live(stored_token(row[1].c_str(), TokenType::admin), now_us)) ids.emplace_back(row[0].c_str());
  }
  return ids;
}

}  // namespace sluice::server::auth
