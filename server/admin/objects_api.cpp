#include "server/admin/objects_api.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <pqxx/pqxx>

#include "common/base/crypto.hpp"
#include "common/domain/identifiers.hpp"
#include "common/domain/json_fields.hpp"
#include "common/domain/limit_json.hpp"
#include "server/admin/json_edit.hpp"
#include "server/admin/paging.hpp"
#include "server/admin/references.hpp"
#include "server/admin/refusal.hpp"
#include "server/admin/routes.hpp"

namespace sluice::server {
namespace {

// "Pro plan!" → "pro-plan"; "" where nothing is left.
std::string slug(std::string_view name) {
  std::string id;
  for (char c : name) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (identifiers::is_alnum(c)) {
      id += c;
    } else if (!id.empty() && id.back() != '-') {
      id += '-';
    }
    if (id.size() == kMaxIdBytes) break;
  }
  while (id.ends_with('-')) id.pop_back();
  return id;
}

template <Kind kind>
std::string id_from_name(Transaction& tx, std::string_view tenant_id, const JsonValue& body) {
  std::string id = slug(text_member(body, "name"));
  if (id.empty() || find(tx, kind, tenant_id, id)) id = random_id(kind);
  return id;
}

// The shorthand rule gets an id made from its content, by whoever reads it.
std::string policy_id(Transaction& tx, std::string_view tenant_id, const JsonValue& body) {
  FaultList ignored;
  const Place root;
  Fields fields(body, root, ignored);
  const bool shorthand = !fields.present("limits") && has_flat_limit(fields);
  return shorthand ? std::string() : id_from_name<Kind::policy>(tx, tenant_id, body);
}

std::string etag(const StoredObject& object) { return fmt::format("\"{}\"", object.version); }

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

// The body with its place in it: what the path and the query say, where the body does not say it.
std::string placed(const JsonValue& body, Kind kind, const std::string& tenant_id, const std::string& id) {
  Faults faults;
  std::vector<NamedText> added;
  const auto place = [&](std::string_view name, const std::string& value) {
    const JsonValue* const given = member(body, name);
    if (value.empty()) return;
    if (given == nullptr || given->type() == JsonType::null) {
      added.emplace_back(name, json_string(value));
    } else if (given->type() == JsonType::string && given->text() != value) {
      faults.push_back({fmt::format("/{}", name),
                        fmt::format("the body says {}, the call {}: let them agree, or leave it out of the body",
                                    quoted(given->text()), quoted(value))});
    }
  };
  if (info(kind).in_tenant) place("tenant_id", tenant_id);
  place("id", id);
  if (!faults.empty()) refuse_faults(422, std::move(faults));
  return edited(body, kReadOnly, added);
}

// The tenant of a body that may name it, else of the call.
std::string body_tenant(const Context& context, const JsonValue& body, Kind kind) {
  if (!info(kind).in_tenant) return {};
  std::string tenant = tenant_of(context, kind);
  if (tenant.empty()) tenant = text_member(body, "tenant_id");
  return tenant;
}

Answer insert_draft(Context& context, const Draft& draft, std::string_view collection) {
  const StoredObject made = insert(context.tx, draft.key, draft.document, draft.extra);
  context.log.add({.action = "create",
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

}  // namespace

const Resource kOrganizations{Kind::organization, "/v1/admin/organizations", &draft_organization,
                              &id_from_name<Kind::organization>};
const Resource kTenants{Kind::tenant, "/v1/admin/tenants", &draft_tenant, &id_from_name<Kind::tenant>};
const Resource kPlans{Kind::plan, "/v1/admin/plans", &draft_plan, &id_from_name<Kind::plan>};
const Resource kPolicies{Kind::policy, "/v1/admin/policies", &draft_policy, &policy_id};
const Resource kOverrides{Kind::override_, "/v1/admin/overrides", &draft_override, &id_from_name<Kind::override_>};

std::string tenant_of(const Context& context, Kind kind) {
  if (!info(kind).in_tenant) return {};
  if (const std::string_view given = context.call.parameter("tenant_id"); !given.empty()) return std::string(given);
  return context.principal.tenant_ids.size() == 1 ? context.principal.tenant_ids.front() : std::string();
}

JsonValue read_body(const Call& call, JsonTree& tree) {
  const auto body = tree.parse(call.body);
  if (!body) refuse_faults(400, {body.error()});
  if (body->type() != JsonType::object) {
    refuse_fault(400, "", fmt::format("the body must be a JSON object, not {}", sluice::describe(body->type())));
  }
  return *body;
}

StoredObject require(Context& context, Kind kind, Lock lock) {
  const std::string& id = context.call.path_values.front();
  const std::string tenant = tenant_of(context, kind);
  if (info(kind).local_id && tenant.empty()) {
    refuse_fault(422, "?tenant_id", fmt::format("tenant_id is missing: the ids of {} are unique within a tenant only",
                                                info(kind).table));
  }
  auto found = find(context.tx, kind, tenant, id, lock);
  if (!found) refuse_unknown(info(kind).name, id);
  return std::move(*found);
}

void check_conditions(const Call& call, const StoredObject* found) {
  if (!call.if_match.empty() && (found == nullptr || !names(call.if_match, etag(*found), Comparison::strong))) {
    throw Refusal(412, "precondition-failed",
                  found == nullptr ? "There is no such object, so If-Match cannot hold."
                                   : fmt::format("It has version {} by now; read it again, and repeat your change on that.",
                                                 found->version));
  }
  if (!call.if_none_match.empty() && found != nullptr && names(call.if_none_match, etag(*found), Comparison::weak)) {
    throw Refusal(412, "precondition-failed", "It exists already, and If-None-Match says it must not.");
  }
}

Answer show(const StoredObject& object, const Faults& warnings) {
  Answer answer;
  answer.body = object.document;
  answer.body.pop_back();
  answer.body += fmt::format(R"({}"version":{},"created_at":"{}","updated_at":"{}")", answer.body.size() > 1 ? "," : "",
                             object.version, object.created_at, object.updated_at);
  if (!warnings.empty()) {
    answer.body += R"(,"warnings":[)";
    for (std::size_t i = 0; i < warnings.size(); ++i) {
      answer.body += fmt::format(R"({}{{"pointer":{},"detail":{}}})", i == 0 ? "" : ",", json_string(warnings[i].pointer),
                                 json_string(warnings[i].text));
    }
    answer.body += ']';
  }
  answer.body += '}';
  answer.headers = fmt::format("ETag: {}\r\n", etag(object));
  return answer;
}

ObjectPage page_of(Context& context, Kind kind, const std::vector<Filter>& filters) {
  const Page page = read_page(context.call);
  ObjectPage found{.objects = list(context.tx, kind, filters, page), .next = {}};
  if (found.objects.size() > page.limit) {
    found.objects.resize(page.limit);
    found.next = cursor_behind(found.objects.back().key.tenant_id, found.objects.back().key.id);
  }
  return found;
}

Answer list_objects(Context& context, const Resource& resource, const std::vector<Filter>& filters) {
  const ObjectPage page = page_of(context, resource.kind, filters);
  std::vector<std::string> items;
  items.reserve(page.objects.size());
  for (const StoredObject& object : page.objects) items.push_back(show(object).body);
  Answer answer;
  answer.body = list_document(items, page.next);
  return answer;
}

Answer create_object(Context& context, const Resource& resource) {
  JsonTree tree;
  const JsonValue body = read_body(context.call, tree);
  const std::string tenant = body_tenant(context, body, resource.kind);
  std::string id;
  if (member(body, "id") == nullptr) id = resource.make_id(context.tx, tenant, body);
  const Draft draft = resource.draft(context.tx, placed(body, resource.kind, tenant, id));
  if (find(context.tx, resource.kind, draft.key.tenant_id, draft.key.id)) {
    throw Refusal(409, "exists",
                  fmt::format("{} {} exists already: choose another id, or replace it with PUT.",
                              info(resource.kind).name, quoted(draft.key.id)));
  }
  check_conditions(context.call, nullptr);
  return insert_draft(context, draft, resource.collection);
}

Answer get_object(Context& context, const Resource& resource) {
  const StoredObject found = require(context, resource.kind, Lock::none);
  if (!context.call.if_none_match.empty() && names(context.call.if_none_match, etag(found), Comparison::weak)) {
    Answer answer;
    answer.status = 304;
    answer.headers = fmt::format("ETag: {}\r\n", etag(found));
    return answer;
  }
  return show(found);
}

Answer put_object(Context& context, const Resource& resource) {
  JsonTree tree;
  const JsonValue body = read_body(context.call, tree);
  const std::string& id = context.call.path_values.front();
  const std::string tenant = body_tenant(context, body, resource.kind);
  const auto before = find(context.tx, resource.kind, tenant, id, Lock::update);
  check_conditions(context.call, before ? &*before : nullptr);
  const Draft draft = resource.draft(context.tx, placed(body, resource.kind, tenant, id));
  if (!before) return insert_draft(context, draft, resource.collection);
  return store(context, draft, *before, "update");
}

Answer patch_object(Context& context, const Resource& resource) {
  JsonTree tree;
  JsonTree old_tree;
  const JsonValue patch = read_body(context.call, tree);
  const StoredObject before = require(context, resource.kind, Lock::update);
  check_conditions(context.call, &before);
  const auto old = old_tree.parse(before.document);
  JsonTree merged_tree;
  const std::string text = merged(*old, patch);
  const auto body = merged_tree.parse(text);
  const Draft draft = resource.draft(
      context.tx, placed(*body, resource.kind, before.key.tenant_id, before.key.id));
  return store(context, draft, before, "update");
}

Answer store(Context& context, const Draft& draft, const StoredObject& before, std::string_view action) {
  if (draft.key.organization_id != before.key.organization_id || draft.key.tenant_id != before.key.tenant_id) {
    refuse_fault(422, info(before.key.kind).in_tenant ? "/tenant_id" : "/organization_id",
                 fmt::format("a {} does not move to another owner: make a new one there", info(before.key.kind).name));
  }
  if (draft.document == before.document) return show(before, draft.warnings);
  const StoredObject after = update(context.tx, before, draft.document, draft.extra);
  context.log.add({.action = std::string(action),
                   .key = after.key,
                   .version = after.version,
                   .before = before.document,
                   .after = after.document});
  return show(after, draft.warnings);
}

Answer delete_object(Context& context, const Resource& resource) {
  const StoredObject before = require(context, resource.kind, Lock::update);
  check_conditions(context.call, &before);
  refuse_referenced(context.tx, before.key);
  remove(context.tx, before.key);
  context.log.add({.action = "delete",
                   .key = before.key,
                   .version = before.version + 1,
                   .before = before.document,
                   .after = std::nullopt});
  Answer answer;
  answer.status = 204;
  return answer;
}

}  // namespace sluice::server
