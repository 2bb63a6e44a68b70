#include "server/admin/tokens_api.hpp"

#include <fmt/core.h>

#include "common/json/edit.hpp"
#include "common/json/fields.hpp"
#include "common/json/merge_patch.hpp"
#include "server/admin/object_parts.hpp"
#include "server/admin/scope_check.hpp"
#include "server/auth/group_mapping.hpp"
#include "server/auth/token_store.hpp"
#include "server/http/refusal.hpp"
#include "server/sessions/session_store.hpp"

namespace sluice::server::admin {
namespace {

void refuse_excess_grant(const auth::Principal& grantor, const auth::TokenDocument& token) {
  if (const auto fault = auth::grant_fault(grantor, auth::principal_of(token))) {
    throw http::Refusal(403, "forbidden", fmt::format("A token cannot grant more than it has: {}.", *fault));
  }
}

auth::TokenDocument read_new(Context& context, const json::Value& body, auth::TokenType type) {
  Faults faults;
  auth::TokenDocument token = auth::read_token(body, type, context.principal, faults);
  if (is_given(body, "id")) faults.push_back({"/id", "the server makes the id of a token: leave id out"});
  if (token.expires_at && token.expires_at->time_since_epoch().count() <= context.now_us) {
    faults.push_back({"/expires_at", "is in the past: the token would never be valid"});
  }
  check_scope(context.tx, body, token.organization_id, token.tenant_ids, faults);
  if (!faults.empty()) http::refuse_faults(422, std::move(faults));
  return token;
}

void check_unchanged(const auth::TokenDocument& before, const auth::TokenDocument& after, Faults& faults) {
  const auto check = [&faults](bool same, std::string_view name) {
    if (same) return;
    faults.push_back({fmt::format("/{}", name),
                      fmt::format("{} cannot be changed: create another token, and revoke this one", name)});
  };
  check(after.id == before.id, "id");
  check(after.role == before.role, "role");
  check(after.organization_id == before.organization_id, "organization_id");
  check(after.tenant_ids == before.tenant_ids, "tenant_ids");
  if (before.revoked && !after.revoked)
    faults.push_back({"/revoked", "a revoked token stays revoked: create another token"});
}

struct Target {
  store::StoredObject object;
  auth::TokenDocument token;
  bool is_last;  // the last live platform_admin token
};

Target lock_target(Context& context, auth::TokenType type) {
  // Locks all live platform_admin tokens first. So if two callers revoke each other's tokens at the same time, only one
  // succeeds.
  std::vector<std::string> admins;
  const bool is_platform = context.principal.scope_level() == auth::Level::platform;
  if (is_platform && type == auth::TokenType::admin) admins = auth::lock_platform_admins(context.tx, context.now_us);
  store::StoredObject object = require(context, auth::kind_of(type), store::Lock::update);
  check_conditions(context.call, &object);
  auth::TokenDocument token = auth::stored_token(object.document, type);
  refuse_excess_grant(context.principal, token);
  const bool is_last = admins.size() == 1 && admins.front() == object.key.id;
  return {.object = std::move(object), .token = std::move(token), .is_last = is_last};
}

[[noreturn]] void refuse_last() {
  throw http::Refusal(
      409, "last-admin",
      "This is the last live platform_admin token. Create another one first, or nobody could create tokens any more.");
}

}  // namespace

Answer create_token(Context& context, auth::TokenType type) {
  json::Tree tree;
  const json::Value body = read_body(context.call, tree);
  const auth::TokenDocument token = read_new(context, json::edited(tree, body, members_to_drop(body, "token")), type);
  refuse_excess_grant(context.principal, token);
  const auth::MintedToken made = auth::insert_token(context.tx, context.log, token, type);
  Answer answer = show(made.object);
  answer.secret = Secret{"token", made.text};
  answer.status = 201;
  answer.headers += fmt::format("Location: /v1/admin/{}/{}\r\n",
                                type == auth::TokenType::admin ? "tokens" : "agent-tokens", made.object.key.id);
  return answer;
}

Answer patch_token(Context& context, auth::TokenType type) {
  json::Tree tree;
  const json::Value patch = read_body(context.call, tree);
  const Target target = lock_target(context, type);
  const json::Value body = json::merged(tree, tree.parse(target.object.document).value(), patch);
  Faults faults;
  const auth::TokenDocument token =
      auth::read_token(json::edited(tree, body, members_to_drop(body, "token")), type, {}, faults);
  check_unchanged(target.token, token, faults);
  if (!faults.empty()) http::refuse_faults(422, std::move(faults));
  const bool ends = !auth::is_live(token, context.now_us);
  if (target.is_last && ends) refuse_last();
  if (ends && type == auth::TokenType::admin) sessions::end_all_of(context.tx, token.id);
  const Draft draft{.key = target.object.key,
                    .organization_id = target.object.organization_id,
                    .document = auth::write_token(token),
                    .extra = {},
                    .warnings = {}};
  return store(context, draft, target.object, token.revoked && !target.token.revoked ? "revoke" : "update");
}

Answer delete_token(Context& context, auth::TokenType type) {
  const Target target = lock_target(context, type);
  if (target.is_last) refuse_last();
  return remove_object(context, target.object);
}

Answer who_am_i(Context& context) {
  const auth::Principal& caller = context.principal;
  if (auth::is_person(caller)) {
    throw http::Refusal(404, "not-found",
                        "This call came with the session of a person who signed in by OpenID Connect, and has no "
                        "token: GET /v1/admin/session describes the person.");
  }
  const auto token = store::find(context.tx, Kind::token, "", caller.token_id);
  if (!token) http::refuse_unknown("token", caller.token_id);  // deleted after this call was authenticated
  Answer answer = show(*token);
  answer.object->key("permissions");
  answer.object->begin_list();
  for (const std::string_view name : auth::permissions_of(caller.role)) answer.object->text(name);
  answer.object->end_list();
  return answer;
}

}  // namespace sluice::server::admin
