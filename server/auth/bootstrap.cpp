#include "server/auth/bootstrap.hpp"

#include <pqxx/pqxx>

#include "common/json/text.hpp"
#include "server/auth/token_store.hpp"
#include "server/postgres/failure.hpp"
#include "server/postgres/transaction.hpp"
#include "server/store/change_log.hpp"

namespace sluice::server::auth {
namespace {

constexpr std::int64_t kAdvisoryLock = 0x736c75626f6f74;  // "sluboot" in ASCII

// Writes a request body and reads the token from it, so that the rules of the admin API apply.
Result<TokenDocument> first_token(const std::string& name) {
  json::Tree tree;
  const std::string body = "{\"name\":" + json::string_literal(name) + R"(,"role":"platform_admin"})";
  const auto value = tree.parse(body);
  if (!value) return failure("invalid_name", value.error().text);
  Faults faults;
  TokenDocument token = read_token(*value, TokenType::admin, {}, faults);
  if (!faults.empty()) return failure("invalid_name", faults.front().text);
  return token;
}

Result<std::string> make_token(pqxx::connection& connection, const TokenDocument& token, bool again,
                               std::int64_t now_us) {
  postgres::Transaction tx(connection);
  tx.enter(postgres::Scope::everything("bootstrap"));
  tx.exec("SELECT pg_advisory_xact_lock($1)", kAdvisoryLock);
  if (!again && !lock_platform_admins(tx, now_us).empty()) {
    return failure("already_bootstrapped", "there is a live platform_admin token already; --again makes one more");
  }
  store::ChangeLog log;
  MintedToken made = insert_token(tx, log, token, TokenType::admin);
  log.record(tx, {.id = "bootstrap", .role = "platform_admin", .source = "", .request_id = ""});
  tx.commit();
  return std::move(made.text);
}

}  // namespace

Result<std::string> bootstrap(const postgres::DatabaseOptions& options, const std::string& name, bool again,
                              const Clock& clock) {
  const auto token = first_token(name);
  if (!token) return std::unexpected(token.error());
  try {
    return make_token(*connect(options), *token, again, clock.now_us());
  } catch (const pqxx::undefined_table&) {
    return failure("schema_missing", "the database has no schema yet: run sluice-server migrate first");
  } catch (const std::exception& error) {
    return failure(postgres::classify(error) == postgres::FailureClass::away ? "database_away" : "bootstrap_failed",
                   postgres::describe(error));
  }
}

}  // namespace sluice::server::auth
