#include "server/sessions/session_store.hpp"

#include <pqxx/pqxx>

#include "server/auth/authenticate.hpp"
#include "server/sessions/cookie.hpp"

namespace sluice::server::sessions {
namespace {

constexpr const char* kInsert =
    "INSERT INTO console_sessions (organization_id, hash, token_id, created_at, expires_at) VALUES ($1, $2, $3, "
    "to_timestamp(0) + $4::bigint * interval '1 microsecond', to_timestamp(0) + $5::bigint * interval '1 microsecond')";
constexpr const char* kRead =
    "SELECT hash, token_id, (extract(epoch FROM expires_at) * 1000000)::bigint FROM console_sessions WHERE hash = ANY "
    "($1::text[])";

Session session_of(const pqxx::row& row) {
  return {.hash = row[0].c_str(), .token_id = row[1].c_str(), .expires_at_us = row[2].as<std::int64_t>()};
}

// Leaves room for one more.
void end_oldest(postgres::Transaction& tx, const std::string& token_id) {
  tx.exec(
      "DELETE FROM console_sessions WHERE hash IN (SELECT hash FROM console_sessions WHERE token_id = $1 "
      "ORDER BY created_at DESC, hash OFFSET $2)",
      token_id, kMaxPerToken - 1);
}

}  // namespace

StartedSession start(postgres::Transaction& tx, const auth::Principal& principal, std::int64_t now_us) {
  end_oldest(tx, principal.token_id);
  StartedSession started{.secret = make_secret(), .session = {}};
  started.session = {.hash = hash_of(started.secret),
                     .token_id = principal.token_id,
                     .expires_at_us = now_us + std::chrono::microseconds(kLifetime).count()};
  tx.exec(kInsert, principal.organization_id, started.session.hash, started.session.token_id, now_us,
          started.session.expires_at_us);
  return started;
}

void end(postgres::Transaction& tx, const std::string& hash) {
  tx.exec("DELETE FROM console_sessions WHERE hash = $1", hash);
}

void end_all_of(postgres::Transaction& tx, const std::string& token_id) {
  tx.exec("DELETE FROM console_sessions WHERE token_id = $1", token_id);
}

std::vector<Session> read(postgres::Transaction& tx, const std::vector<std::string>& hashes) {
  std::vector<Session> found;
  for (const auto& row : tx.exec(kRead, postgres::text_array(hashes))) found.push_back(session_of(row));
  return found;
}

std::expected<auth::Principal, CredentialFault> authenticate(postgres::Transaction& tx, const std::string& hash,
                                                             std::int64_t now_us) {
  tx.present(hash);
  const std::vector<Session> found = read(tx, {hash});
  if (found.empty()) return std::unexpected(CredentialFault::unknown);
  if (found.front().expires_at_us <= now_us) return std::unexpected(CredentialFault::expired);
  tx.present(found.front().token_id);
  auto principal = auth::principal_of_id(tx, found.front().token_id, now_us);
  if (principal) principal->session_id = id_of(hash);
  return principal;
}

void delete_expired(postgres::Transaction& tx, std::int64_t now_us) {
  tx.exec("DELETE FROM console_sessions WHERE expires_at <= to_timestamp(0) + $1::bigint * interval '1 microsecond'",
          now_us);
}

}  // namespace sluice::server::sessions
