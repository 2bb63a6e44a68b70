#include "server/sessions/session_store.hpp"

#include <pqxx/pqxx>

#include "common/base/timestamp.hpp"
#include "common/json/tree.hpp"
#include "common/json/writer.hpp"
#include "server/auth/authenticate.hpp"
#include "server/sessions/cookie.hpp"
#include "server/store/objects.hpp"

namespace sluice::server::sessions {
namespace {

constexpr const char* kInsert =
    "INSERT INTO console_sessions (organization_id, hash, token_id, created_at, expires_at) VALUES ($1, $2, $3, "
    "to_timestamp(0) + $4::bigint * interval '1 microsecond', to_timestamp(0) + $5::bigint * interval '1 microsecond')";
constexpr const char* kInsertOfPerson =
    "INSERT INTO console_sessions (organization_id, hash, group_mapping_id, group_name, subject, document, created_at, "
    "expires_at) VALUES ($1, $2, $3, $4, $5, $6, to_timestamp(0) + $7::bigint * interval '1 microsecond', "
    "to_timestamp(0) + $8::bigint * interval '1 microsecond')";
// The scope is the mapping's, if the transaction sees it.
constexpr const char* kRead =
    "SELECT s.hash, coalesce(s.token_id, ''), (extract(epoch FROM s.expires_at) * 1000000)::bigint, "
    "coalesce(s.subject, ''), coalesce(s.group_mapping_id, ''), s.organization_id, coalesce(s.document, ''), "
    "coalesce(s.group_name, ''), coalesce(m.document::text, '') FROM console_sessions s LEFT JOIN group_mappings m ON "
    "m.id = s.group_mapping_id "
    "WHERE s.hash = ANY ($1::text[])";

Session session_of(const pqxx::row& row) {
  Session session{.hash = row[0].c_str(), .token_id = row[1].c_str(), .expires_at_us = row[2].as<std::int64_t>()};
  if (!session.of_person()) return session;
  session.subject = row[3].c_str();
  session.group_mapping_id = row[4].c_str();
  session.organization_id = row[5].c_str();
  session.document = row[6].c_str();
  session.group = row[7].c_str();
  session.tenant_ids = auth::stored_group_mapping(row[8].c_str()).tenant_ids;
  return session;
}

// Leaves room for one more.
void end_oldest(postgres::Transaction& tx, const std::string& token_id) {
  tx.exec(
      "DELETE FROM console_sessions WHERE hash IN (SELECT hash FROM console_sessions WHERE token_id = $1 "
      "ORDER BY created_at DESC, hash OFFSET $2)",
      token_id, kMaxPerToken - 1);
}

// Leaves room for one more. Sign-ins of one person take turns, so that their number stays bounded.
void end_oldest_of_person(postgres::Transaction& tx, const std::string& subject) {
  tx.exec("SELECT pg_advisory_xact_lock(hashtext('sluice session'), hashtext($1))", subject);
  tx.exec(
      "DELETE FROM console_sessions WHERE hash IN (SELECT hash FROM console_sessions WHERE subject = $1 "
      "ORDER BY created_at DESC, hash OFFSET $2)",
      subject, kMaxPerPerson - 1);
}

std::expected<auth::Principal, CredentialFault> principal_of_person(postgres::Transaction& tx, const Session& session) {
  const auto found = store::find(tx, Kind::group_mapping, "", session.group_mapping_id);
  if (!found) return std::unexpected(CredentialFault::unknown);
  const auth::GroupMapping mapping = auth::stored_group_mapping(found->document);
  if (!mapping.role || mapping.group != session.group) return std::unexpected(CredentialFault::unknown);
  return auth::principal_of(mapping, session.subject, person_of(session.document).name);
}

}  // namespace

std::string document_of(const Session& session, const Person& person, const auth::Principal& principal) {
  json::Writer out(json::Writer::Layout::compact);
  out.begin_object();
  out.field("id", id_of(session.hash));
  out.field("subject", person.subject);
  out.optional_field("name", person.name);
  out.optional_field("email", person.email);
  out.field("group_mapping_id", session.group_mapping_id);
  out.field("role", to_string(principal.role));
  out.optional_field("organization_id", principal.organization_id);
  out.key("tenant_ids");
  out.texts(principal.tenant_ids);
  out.field("expires_at", format_timestamp(WallTime(Micros(session.expires_at_us))));
  out.end_object();
  return out.take();
}

Person person_of(std::string_view document) {
  json::Tree tree;
  const json::Value value = tree.parse(document).value_or(json::Value());
  return {.subject = std::string(value.text_of("subject")),
          .name = std::string(value.text_of("name")),
          .email = std::string(value.text_of("email"))};
}

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

StartedSession start(postgres::Transaction& tx, const auth::GroupMapping& mapping, const Person& person,
                     std::int64_t now_us) {
  end_oldest_of_person(tx, person.subject);
  StartedSession started{.secret = make_secret(), .session = {}};
  started.session = {.hash = hash_of(started.secret),
                     .token_id = {},
                     .expires_at_us = now_us + std::chrono::microseconds(kLifetime).count(),
                     .subject = person.subject,
                     .group_mapping_id = mapping.id,
                     .group = mapping.group,
                     .organization_id = mapping.organization_id,
                     .tenant_ids = mapping.tenant_ids};
  started.session.document =
      document_of(started.session, person, auth::principal_of(mapping, person.subject, person.name));
  tx.exec(kInsertOfPerson, mapping.organization_id, started.session.hash, mapping.id, mapping.group, person.subject,
          started.session.document, now_us, started.session.expires_at_us);
  return started;
}

store::Change signed_in(const Session& session) {
  return {.action = "sign-in",
          .key = {Kind::session, "", id_of(session.hash)},
          .organization_id = session.organization_id,
          .version = 1,
          .before = std::nullopt,
          .after = session.document};
}

store::Change signed_out(const Session& session) {
  return {.action = "sign-out",
          .key = {Kind::session, "", id_of(session.hash)},
          .organization_id = session.organization_id,
          .version = 2,
          .before = session.document,
          .after = std::nullopt};
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
  const Session& session = found.front();
  tx.present(session.of_person() ? session.group_mapping_id : session.token_id);
  auto principal =
      session.of_person() ? principal_of_person(tx, session) : auth::principal_of_id(tx, session.token_id, now_us);
  if (principal) principal->session_id = id_of(hash);
  return principal;
}

void delete_expired(postgres::Transaction& tx, std::int64_t now_us) {
  tx.exec("DELETE FROM console_sessions WHERE expires_at <= to_timestamp(0) + $1::bigint * interval '1 microsecond'",
          now_us);
}

}  // namespace sluice::server::sessions
