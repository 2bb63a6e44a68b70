#include "server/admin/object_parts.hpp"

#include <fmt/core.h>

#include "common/base/text.hpp"
#include "common/json/edit.hpp"
#include "common/json/fields.hpp"
#include "common/json/text.hpp"
#include "server/admin/references.hpp"
#include "server/admin/routes.hpp"
#include "server/http/refusal.hpp"

namespace sluice::server::admin {
namespace {

// Does a list of entity tags name this one? Ours are all strong; a proxy that compresses makes them weak, which only a
// weak comparison overlooks (RFC 9110 section 8.8.3.2): If-None-Match is compared so, If-Match is not.
enum class Comparison : std::uint8_t { strong, weak };
bool names(std::string_view list, const std::string& tag, Comparison comparison) {
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    std::string_view item = list.substr(0, comma);
    list.remove_prefix(std::min(comma + 1, list.size()));
    while (item.starts_with(' ')) item.remove_prefix(1);
    while (item.ends_with(' ')) item.remove_suffix(1);
    if (comparison == Comparison::weak && item.starts_with("W/")) item.remove_prefix(2);
    if (item == "*" || item == tag) return true;
  }
  return false;
}

}  // namespace

std::string etag(const store::StoredObject& object) { return fmt::format("\"{}\"", object.version); }

std::string tenant_of(const Context& context, Kind kind) {
  if (!info(kind).in_tenant()) return {};
  if (const std::string_view given = context.call.parameter("tenant_id"); !given.empty()) return std::string(given);
  return context.principal.tenant_ids.size() == 1 ? context.principal.tenant_ids.front() : std::string();
}

std::string required_tenant(const Context& context, Kind kind) {
  std::string tenant = tenant_of(context, kind);
  if (info(kind).local_id && tenant.empty()) {
    http::refuse_fault(
        422, "?tenant_id",
        fmt::format("tenant_id is missing: the ids of {} are unique within a tenant only", info(kind).table()));
  }
  return tenant;
}

json::Value read_body(const Call& call, json::Tree& tree) {
  const auto body = tree.parse(call.body);
  if (!body) http::refuse_faults(400, {body.error()});
  if (body->type() != json::Type::object) {
    http::refuse_fault(400, "", fmt::format("the body must be a JSON object, not {}", json::describe(body->type())));
  }
  if (Faults faults = json::nul_faults(*body); !faults.empty()) http::refuse_faults(422, std::move(faults));
  return *body;
}

bool is_given(const json::Value& body, std::string_view name) {
  const json::Value* const found = body.find(name);
  return found != nullptr && found->type() != json::Type::null;
}

std::vector<std::string_view> unshown(const json::Value& body, std::string_view secret) {
  std::vector<std::string_view> names(kReadOnly.begin(), kReadOnly.end());
  if (!is_given(body, secret)) names.push_back(secret);
  return names;
}

store::StoredObject require(Context& context, Kind kind, store::Lock lock) {
  const std::string& id = context.call.path_values.front();
  auto found = store::find(context.tx, kind, required_tenant(context, kind), id, lock);
  if (!found) http::refuse_unknown(info(kind).name, id);
  return std::move(*found);
}

void check_conditions(const Call& call, const store::StoredObject* found) {
  if (!call.if_match.empty() && (found == nullptr || !names(call.if_match, etag(*found), Comparison::strong))) {
    throw http::Refusal(
        412, "precondition-failed",
        found == nullptr
            ? "There is no such object, so If-Match cannot hold."
            : fmt::format("It has version {} by now; read it again, and repeat your change on that.", found->version));
  }
  if (!call.if_none_match.empty() && found != nullptr && names(call.if_none_match, etag(*found), Comparison::weak)) {
    throw http::Refusal(412, "precondition-failed", "It exists already, and If-None-Match says it must not.");
  }
}

bool is_known(const Call& call, const store::StoredObject& found) {
  return names(call.if_none_match, etag(found), Comparison::weak);
}

Answer show(const store::StoredObject& object, const Faults& warnings) {
  Answer answer;
  answer.body = object.document;
  answer.body.pop_back();
  answer.body += fmt::format(R"({}"version":{},"created_at":"{}","updated_at":"{}")", answer.body.size() > 1 ? "," : "",
                             object.version, object.created_at, object.updated_at);
  if (!warnings.empty()) {
    answer.body += R"(,"warnings":[)";
    for (std::size_t i = 0; i < warnings.size(); ++i) {
      answer.body += fmt::format(R"({}{{"pointer":{},"detail":{}}})", i == 0 ? "" : ",",
                                 json::string_literal(warnings[i].pointer), json::string_literal(warnings[i].text));
    }
    answer.body += ']';
  }
  answer.body += '}';
  answer.headers = fmt::format("ETag: {}\r\n", etag(object));
  return answer;
}

std::string body_tenant(const Context& context, const json::Value& body, Kind kind) {
  if (!info(kind).in_tenant()) return {};
  const std::string_view asked = context.call.parameter("tenant_id");
  const std::string_view said = body.text_of("tenant_id");
  if (said.empty()) return tenant_of(context, kind);
  if (!asked.empty() && asked != said) {
    http::refuse_fault(
        422, "/tenant_id",
        fmt::format("the body says {}, the query {}: let them agree, or leave one out", quoted(said), quoted(asked)));
  }
  return std::string(said);
}

std::string placed(const json::Value& body, Kind kind, const std::string& tenant_id, const std::string& id) {
  Faults faults;
  std::vector<json::NamedText> added;
  const auto place = [&](std::string_view name, const std::string& value) {
    if (value.empty()) return;
    if (!is_given(body, name)) {
      added.emplace_back(name, json::string_literal(value));
    } else if (const json::Value* const given = body.find(name);
               given->type() == json::Type::string && given->text() != value) {
      faults.push_back({fmt::format("/{}", name),
                        fmt::format("the body says {}, the call {}: let them agree, or leave it out of the body",
                                    quoted(given->text()), quoted(value))});
    }
  };
  if (info(kind).in_tenant()) place("tenant_id", tenant_id);
  place("id", id);
  if (!faults.empty()) http::refuse_faults(422, std::move(faults));
  return json::edited(body, kReadOnly, added);
}

Answer insert_draft(Context& context, const Draft& draft, std::string_view collection, std::string_view action) {
  const store::StoredObject made = store::insert(context.tx, draft.key, draft.document, draft.extra);
  context.log.add({.action = std::string(action),
                   .key = made.key,
                   .version = made.version,
                   .before = std::nullopt,
                   .after = made.document});
  Answer answer = show(made, draft.warnings);
  answer.status = 201;
  const std::string tenant = info(made.key.kind).local_id ? fmt::format("?tenant_id={}", made.key.tenant_id) : "";
  answer.headers += fmt::format("Location: {}/{}{}\r\n", collection, made.key.id, tenant);
  return answer;
}

Answer store(Context& context, const Draft& draft, const store::StoredObject& before, std::string_view action) {
  if (draft.key.organization_id != before.key.organization_id || draft.key.tenant_id != before.key.tenant_id) {
    http::refuse_fault(
        422, info(before.key.kind).in_tenant() ? "/tenant_id" : "/organization_id",
        fmt::format("a {} does not move to another owner: make a new one there", info(before.key.kind).name));
  }
  if (draft.document == before.document) return show(before, draft.warnings);
  const store::StoredObject after = store::update(context.tx, before, draft.document, draft.extra);
  context.log.add({.action = std::string(action),
                   .key = after.key,
                   .version = after.version,
                   .before = before.document,
                   .after = after.document});
  return show(after, draft.warnings);
}

Answer remove_object(Context& context, const store::StoredObject& before) {
  refuse_referenced(context.tx, before.key);
  store::remove(context.tx, before.key);
  context.log.add({.action = "delete",
                   .key = before.key,
                   .version = before.version + 1,
                   .before = before.document,
                   .after = std::nullopt});
  Answer answer;
  answer.status = 204;
  return answer;
}

void show_secret(Answer& answer, std::string_view member, std::string_view secret) {
  answer.body.pop_back();
  answer.body_without_secret = fmt::format(R"({},"{}":null,"secret_already_shown":true}})", answer.body, member);
  answer.body += fmt::format(R"(,"{}":{}}})", member, json::string_literal(secret));
}

}  // namespace sluice::server::admin
