// Sessions as rows of PostgreSQL, shared by all servers. A session stands for an admin token, or for a person who
// signed in by OpenID Connect and whose group has a mapping (auth/group_mapping).
//
// Every function throws what libpqxx throws. `now_us`: Unix time in µs.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include "common/domain/credential.hpp"
#include "server/auth/group_mapping.hpp"
#include "server/auth/roles.hpp"
#include "server/postgres/transaction.hpp"
#include "server/store/change_log.hpp"

namespace sluice::server::sessions {

inline constexpr std::chrono::hours kLifetime{8};
inline constexpr std::size_t kMaxPerToken = 20;   // a further one ends the oldest
inline constexpr std::size_t kMaxPerPerson = 20;  // as kMaxPerToken

// What is known of a person who signed in by OpenID Connect. The provider's names, at most the limits of oidc/id_token.
struct Person {
  std::string subject;
  std::string name = {};   // "": the provider says none
  std::string email = {};  // as `name`
};

struct Session {
  std::string hash;
  std::string token_id;  // "": of a person
  std::int64_t expires_at_us = 0;
  // Only of a person:
  std::string subject = {};
  std::string group_mapping_id = {};
  std::string group = {};                    // of the mapping when the session began
  std::string organization_id = {};          // of the mapping; "": the platform
  std::vector<std::string> tenant_ids = {};  // of the mapping
  std::string document = {};                 // as document_of() wrote it

  bool of_person() const { return token_id.empty(); }
};

// The person and what they got, as JSON: what the audit trail says of a sign-in.
std::string document_of(const Session& session, const Person& person, const auth::Principal& principal);
// The person of such a document.
Person person_of(std::string_view document);

struct StartedSession {
  std::string secret;  // for the cookie; stored nowhere
  Session session;
};

// Ends the token's oldest sessions above kMaxPerToken. REQUIRES: `tx` has the scope of `principal` and has locked the
// row of its token, which is live.
StartedSession start(postgres::Transaction& tx, const auth::Principal& principal, std::int64_t now_us);
// Ends the person's oldest sessions above kMaxPerPerson. The session ends with the mapping, and as soon as the mapping
// is for another group. REQUIRES: `tx` has entered Scope::everything(), and `mapping` has a role.
StartedSession start(postgres::Transaction& tx, const auth::GroupMapping& mapping, const Person& person,
                     std::int64_t now_us);

// For the audit trail, which names people when they sign in and out. REQUIRES: session.of_person().
store::Change signed_in(const Session& session);
store::Change signed_out(const Session& session);

void end(postgres::Transaction& tx, const std::string& hash);
void end_all_of(postgres::Transaction& tx, const std::string& token_id);

// Those of `hashes` that exist, in the scope of `tx`. They may have expired.
std::vector<Session> read(postgres::Transaction& tx, const std::vector<std::string>& hashes);

// Turns a session into the principal of its token or of its person's mapping, as both are now, with
// Principal::session_id. Does not enter the principal's scope.
std::expected<auth::Principal, CredentialFault> authenticate(postgres::Transaction& tx, const std::string& hash,
                                                             std::int64_t now_us);

// REQUIRES: `tx` has entered Scope::everything().
void delete_expired(postgres::Transaction& tx, std::int64_t now_us);

}  // namespace sluice::server::sessions
