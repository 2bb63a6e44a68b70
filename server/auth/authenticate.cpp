#include "server/auth/authenticate.hpp"

#include <pqxx/pqxx>

#include "common/base/timestamp.hpp"
#include "common/domain/credential.hpp"
#include "server/admin/json_edit.hpp"

namespace sluice::server {
namespace {

// RFC 6750 section 2.1; the scheme's case does not matter.
std::string_view bearer(std::string_view authorization) {
  static constexpr std::string_view kScheme = "bearer ";
  if (authorization.size() <= kScheme.size()) return {};
  for (std::size_t i = 0; i < kScheme.size(); ++i) {
    const char c = authorization[i];
    if ((c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c) != kScheme[i]) return {};
  }
  return authorization.substr(kScheme.size());
}

bool is_live(const std::string& document, std::int64_t now_us) {
  JsonTree tree;
  const auto token = tree.parse(document);
  if (!token) return false;
  const JsonValue* const revoked = member(*token, "revoked");
  if (revoked != nullptr && revoked->type() == JsonType::boolean && revoked->boolean()) return false;
  const std::string_view expires_at = text_member(*token, "expires_at");
  if (expires_at.empty()) return true;
  const auto time = parse_timestamp(expires_at);
  return time && time->time_since_epoch().count() > now_us;
}

}  // namespace

Principal principal_of(const StoredObject& token) {
  Principal principal;
  principal.token_id = token.key.id;
  principal.organization_id = token.key.organization_id;
  JsonTree tree;
  const auto document = tree.parse(token.document);
  if (!document) return principal;
  principal.name = text_member(*document, "name");
  principal.role = role_from(text_member(*document, "role")).value_or(Role::auditor);
  if (const JsonValue* const tenants = member(*document, "tenant_ids")) {
    for (const JsonValue& id : tenants->items()) principal.tenant_ids.emplace_back(id.text());
  }
  return principal;
}

std::optional<Principal> authenticate(Transaction& tx, std::string_view authorization, std::int64_t now_us) {
  const auto presented = parse_key(bearer(authorization), CredentialKind::admin_token);
  if (!presented) return std::nullopt;
  tx.present(presented->id);
  const pqxx::result rows = tx.exec("SELECT secret_hash FROM tokens WHERE id = $1", std::string(presented->id));
  const std::optional<KeyHash> hash = rows.empty() ? std::nullopt : parse_key_hash(rows[0][0].c_str());
  const bool good = verify(hash ? *hash : dummy_key_hash(), presented->secret);
  if (!hash || !good) return std::nullopt;
  const auto token = find(tx, Kind::token, "", presented->id);
  if (!token || !is_live(token->document, now_us)) return std::nullopt;
  return principal_of(*token);
}

}  // namespace sluice::server
