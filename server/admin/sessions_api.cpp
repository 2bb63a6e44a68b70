#include "server/admin/sessions_api.hpp"

#include "common/base/timestamp.hpp"
#include "server/admin/answers.hpp"
#include "server/admin/object_parts.hpp"
#include "server/auth/token_document.hpp"
#include "server/http/refusal.hpp"
#include "server/sessions/session_store.hpp"

namespace sluice::server::admin {
namespace {

void require_session(const Context& context) {
  if (!context.call.session.empty()) return;
  throw http::Refusal(404, "not-found",
                      "This call came with an admin token and has no session: POST /v1/admin/session starts one, and "
                      "its cookie stands for the token. GET /v1/admin/whoami describes the token.");
}

void describe_person(json::Writer& object, const sessions::Session& session) {
  const sessions::Person person = sessions::person_of(session.document);
  object.field("subject", person.subject);
  object.field("name", person.name);
  object.optional_field("email", person.email);
  object.field("group_mapping_id", session.group_mapping_id);
}

// The session and its token or its person, without the CSRF token. `token`: nullptr for a person.
json::Writer describe(const Context& context, const sessions::Session& session, const auth::TokenDocument* token) {
  json::Writer object = open_object();
  object.field("id", sessions::id_of(session.hash));
  object.field("expires_at", format_timestamp(WallTime(Micros(session.expires_at_us))));
  if (token == nullptr) {
    describe_person(object, session);
  } else {
    object.field("token_id", token->id);
    object.field("name", token->name);
  }
  object.field("role", to_string(context.principal.role));
  object.optional_field("organization_id", context.principal.organization_id);
  object.key("tenant_ids");
  object.texts(context.principal.tenant_ids);
  if (token != nullptr && token->expires_at) object.field("token_expires_at", format_timestamp(*token->expires_at));
  object.key("permissions");
  object.begin_list();
  for (const std::string_view name : auth::permissions_of(context.principal.role)) object.text(name);
  object.end_list();
  return object;
}

// Refuses 401 if the token was revoked or removed since the call was authenticated.
auth::TokenDocument require_token(const Context& context, store::Lock lock) {
  const auto found = store::find(context.tx, Kind::token, "", context.principal.token_id, lock);
  const auto token = found ? std::optional(auth::stored_token(found->document, auth::TokenType::admin)) : std::nullopt;
  if (!token || !auth::is_live(*token, context.now_us)) {
    http::Refusal refusal(401, "unauthorized", "The admin token was revoked, removed or has expired during this call.",
                          {}, "WWW-Authenticate: Bearer realm=\"sluice\"\r\n");
    refusal.code = to_string(CredentialFault::unknown);
    throw refusal;
  }
  return *token;
}

}  // namespace

Answer sign_in(Context& context) {
  refuse_members(context.call);
  if (!context.call.session.empty()) {
    throw http::Refusal(403, "forbidden",
                        "A session cannot start another one: send an admin token as Authorization: Bearer.");
  }
  // The lock makes sign-ins with one token take turns, so their number stays bounded.
  const auth::TokenDocument token = require_token(context, store::Lock::update);
  const sessions::StartedSession started = sessions::start(context.tx, context.principal, context.now_us);
  context.wrote_rows = true;
  Answer answer;
  answer.object = describe(context, started.session, &token);
  answer.secret = Secret{"csrf_token", sessions::csrf_token(started.secret)};
  answer.secret_headers = sessions::set_cookie(started.secret, context.call.secure_cookie);
  return answer;
}

Answer get_session(Context& context) {
  require_session(context);
  const auto found = sessions::read(context.tx, {context.call.session.hash});
  if (found.empty()) http::refuse_unknown("session", sessions::id_of(context.call.session.hash));
  Answer answer;
  if (found.front().of_person()) {
    answer.object = describe(context, found.front(), nullptr);
  } else {
    const auth::TokenDocument token = require_token(context, store::Lock::none);
    answer.object = describe(context, found.front(), &token);
  }
  answer.object->field("csrf_token", sessions::csrf_token(context.call.session.secret));
  return answer;
}

Answer sign_out(Context& context) {
  require_session(context);
  check_conditions(context.call, nullptr);  // a session has no version
  const auto found = sessions::read(context.tx, {context.call.session.hash});
  sessions::end(context.tx, context.call.session.hash);
  context.wrote_rows = true;
  if (!found.empty() && found.front().of_person()) context.log.add(sessions::signed_out(found.front()));
  Answer answer;
  answer.status = 204;
  answer.headers = sessions::clear_cookie(context.call.secure_cookie);
  return answer;
}

}  // namespace sluice::server::admin
