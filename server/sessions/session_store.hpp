// Sessions as rows of PostgreSQL, shared by all servers.
//
// Every function throws what libpqxx throws. `now_us`: Unix time in µs.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include "common/domain/credential.hpp"
#include "server/auth/roles.hpp"
#include "server/postgres/transaction.hpp"

namespace sluice::server::sessions {

inline constexpr std::chrono::hours kLifetime{8};
inline constexpr std::size_t kMaxPerToken = 20;  // a further one ends the oldest

struct Session {
  std::string hash;
  std::string token_id;
  std::int64_t expires_at_us = 0;
};

struct StartedSession {
  std::string secret;  // for the cookie; stored nowhere
  Session session;
};

// Ends the token's oldest sessions above kMaxPerToken. REQUIRES: `tx` has the scope of `principal` and has locked the
// row of its token, which is live.
StartedSession start(postgres::Transaction& tx, const auth::Principal& principal, std::int64_t now_us);

void end(postgres::Transaction& tx, const std::string& hash);
void end_all_of(postgres::Transaction& tx, const std::string& token_id);

// Those of `hashes` that exist, in the scope of `tx`. They may have expired.
std::vector<Session> read(postgres::Transaction& tx, const std::vector<std::string>& hashes);

// Turns a session into the principal of its token, with Principal::session_id. Does not enter the principal's scope.
std::expected<auth::Principal, CredentialFault> authenticate(postgres::Transaction& tx, const std::string& hash,
                                                             std::int64_t now_us);

// REQUIRES: `tx` has entered Scope::everything().
void delete_expired(postgres::Transaction& tx, std::int64_t now_us);

}  // namespace sluice::server::sessions
