#include "server/auth/bootstrap.hpp"

#include <fmt/format.h>
#include <pqxx/pqxx>

#include "common/base/json_text.hpp"
#include "common/domain/credential.hpp"
#include "server/postgres/failure.hpp"
#include "server/postgres/transaction.hpp"
#include "server/store/change_log.hpp"
#include "server/store/objects.hpp"

namespace sluice::server {

Result<std::string> bootstrap(const DatabaseOptions& options, const std::string& name, bool again) {
  try {
    const auto connection = connect(options);
    Transaction tx(*connection);
    tx.enter(Scope::everything("bootstrap"));
    const pqxx::result live = tx.exec_text(
        "SELECT FROM tokens WHERE document ->> 'role' = 'platform_admin' AND coalesce(document ->> 'revoked', 'false') = "
        "'false' LIMIT 1");
    if (!live.empty() && !again) return failure("already_bootstrapped", "there is a live platform_admin token already; --again makes one more");
    std::array<std::uint8_t, 6> bytes;
    random_bytes(bytes);
    const std::string id = "token-" + to_hex(bytes);
    const std::string token = mint_key(id, CredentialKind::admin_token);
    std::string document = fmt::format(R"({{"id":"{}","name":)", id);
    append_json_string(document, name);
    document += R"(,"role":"platform_admin"})";
    const auto made = insert(tx, {.kind = Kind::token, .organization_id = {}, .tenant_id = {}, .id = id}, document,
                             {{"secret_hash", "text", hash_secret(parse_key(token, CredentialKind::admin_token)->secret)}});
    ChangeLog log;
    log.add({.action = "create", .key = made.key, .version = made.version, .before = std::nullopt, .after = document});
    log.record(tx, {.id = "bootstrap", .role = "platform_admin", .source = "", .request_id = ""});
    tx.commit();
    return token;
  } catch (const std::exception& error) {
    return failure(classify(error) == FailureClass::away ? "database_away" : "bootstrap_failed", describe(error));
  }
}

}  // namespace sluice::server
