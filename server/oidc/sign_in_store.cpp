#include "server/oidc/sign_in_store.hpp"

#include <chrono>
#include <vector>

#include <pqxx/pqxx>

#include "common/base/crypto.hpp"
#include "common/json/writer.hpp"
#include "server/auth/group_mapping.hpp"
#include "server/oidc/attempt.hpp"
#include "server/sessions/cookie.hpp"
#include "server/store/change_log.hpp"

namespace sluice::server::oidc {
namespace {

constexpr std::size_t kMaxGroupsShown = 50;  // in the audit trail, of a sign-in that was refused

// False: the attempt has become a session before.
bool mark_used(postgres::Transaction& tx, const std::string& state, std::int64_t now_us) {
  // An attempt may begin on a server whose clock is ahead.
  const std::int64_t until_us = now_us + std::chrono::microseconds(2 * kPatience).count();
  const pqxx::result rows = tx.exec(
      "INSERT INTO used_sign_ins (hash, expires_at) VALUES ($1, to_timestamp(0) + $2::bigint * interval '1 "
      "microsecond') ON CONFLICT DO NOTHING RETURNING hash",
      to_hex(sha256(state)), until_us);
  return !rows.empty();
}

std::vector<auth::GroupMapping> mappings_of(postgres::Transaction& tx, const std::vector<std::string>& groups) {
  std::vector<auth::GroupMapping> found;
  for (const auto& row : tx.exec("SELECT document FROM group_mappings WHERE group_name = ANY ($1::text[]) ORDER BY id",
                                 postgres::text_array(groups))) {
    found.push_back(auth::stored_group_mapping(row[0].c_str()));
  }
  return found;
}

std::string refusal_document(const std::string& id, const Identity& identity) {
  json::Writer out(json::Writer::Layout::compact);
  out.begin_object();
  out.field("id", id);
  out.field("subject", identity.person.subject);
  out.optional_field("name", identity.person.name);
  out.optional_field("email", identity.person.email);
  out.key("groups");
  const std::size_t shown = std::min(identity.groups.size(), kMaxGroupsShown);
  out.texts({identity.groups.begin(), identity.groups.begin() + static_cast<std::ptrdiff_t>(shown)});
  out.end_object();
  return out.take();
}

store::Change refused_sign_in(const Identity& identity) {
  const std::string id = sessions::id_of(sessions::hash_of(sessions::make_secret()));
  return {.action = "refuse",
          .key = {Kind::session, "", id},
          .organization_id = "",
          .version = 1,
          .before = std::nullopt,
          .after = refusal_document(id, identity)};
}

}  // namespace

SignedIn sign_in(pqxx::connection& connection, const SignIn& wanted, std::int64_t now_us) {
  const sessions::Person& person = wanted.identity.person;
  postgres::Transaction tx(connection);
  tx.enter(postgres::Scope::everything("oidc"));
  if (!mark_used(tx, wanted.state, now_us)) return {.outcome = SignedIn::Outcome::used};
  const std::vector<auth::GroupMapping> mappings = mappings_of(tx, wanted.identity.groups);
  const auth::GroupMapping* const mapping = auth::strongest(mappings);
  store::ChangeLog log;
  store::Actor actor{.id = auth::actor_of_subject(person.subject),
                     .role = "",
                     .source = wanted.source,
                     .request_id = wanted.request_id};
  SignedIn done;
  if (mapping == nullptr) {
    log.add(refused_sign_in(wanted.identity));
  } else {
    sessions::StartedSession started = sessions::start(tx, *mapping, person, now_us);
    log.add(sessions::signed_in(started.session));
    actor.role = to_string(*mapping->role);
    actor.session_id = sessions::id_of(started.session.hash);
    done = {.outcome = SignedIn::Outcome::started, .secret = std::move(started.secret)};
  }
  log.record(tx, actor);
  tx.commit();
  return done;
}

void delete_expired_sign_ins(postgres::Transaction& tx, std::int64_t now_us) {
  tx.exec("DELETE FROM used_sign_ins WHERE expires_at <= to_timestamp(0) + $1::bigint * interval '1 microsecond'",
          now_us);
}

}  // namespace sluice::server::oidc
