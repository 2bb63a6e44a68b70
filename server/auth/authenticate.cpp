#include "server/auth/authenticate.hpp"

#include <pqxx/pqxx>

#include "common/domain/credential.hpp"
#include "server/auth/token_document.hpp"
#include "server/store/objects.hpp"

namespace sluice::server::auth {

// RFC 6750 section 2.1. The case of "Bearer" does not matter.
std::string_view bearer(std::string_view authorization) {
  static constexpr std::string_view kScheme = "bearer ";
  if (authorization.size() <= kScheme.size()) return {};
  for (std::size_t i = 0; i < kScheme.size(); ++i) {
    const char c = authorization[i];
    if ((c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c) != kScheme[i]) return {};
  }
  return authorization.substr(kScheme.size());
}

CredentialFault fault_of_header(std::string_view authorization) {
  const std::string_view token = bearer(authorization);
  if (token.empty() && !authorization.empty()) return CredentialFault::malformed;  // such as a token without "Bearer"
  return fault_of_form(token, CredentialKind::admin_token);
}

std::expected<Principal, CredentialFault> authenticate(postgres::Transaction& tx, std::string_view authorization,
                                                       std::int64_t now_us) {
  const auto presented = parse_key(bearer(authorization), CredentialKind::admin_token);
  if (!presented) return std::unexpected(fault_of_header(authorization));
  tx.present(presented->id);
  const pqxx::result rows = tx.exec("SELECT secret_hash FROM tokens WHERE id = $1", std::string(presented->id));
  const std::optional<KeyHash> hash = rows.empty() ? std::nullopt : parse_key_hash(rows[0][0].c_str());
  const bool good = verify(hash ? *hash : dummy_key_hash(), presented->secret);
  if (!hash || !good) return std::unexpected(CredentialFault::unknown);
  return principal_of_id(tx, presented->id, now_us);
}

std::expected<Principal, CredentialFault> principal_of_id(postgres::Transaction& tx, std::string_view token_id,
                                                          std::int64_t now_us) {
  const auto found = store::find(tx, Kind::token, "", token_id);
  if (!found) return std::unexpected(CredentialFault::unknown);
  const TokenDocument token = stored_token(found->document, TokenType::admin);
  if (token.revoked) return std::unexpected(CredentialFault::unknown);
  if (!is_live(token, now_us)) return std::unexpected(CredentialFault::expired);
  return principal_of(token);
}

}  // namespace sluice::server::auth
