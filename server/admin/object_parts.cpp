#include "server/admin/object_parts.hpp"

#include <fmt/core.h>
#include <pqxx/pqxx>

#include "common/base/text.hpp"
#include "common/json/edit.hpp"
#include "common/json/fields.hpp"
#include "server/admin/answers.hpp"
#include "server/admin/quotas_api.hpp"
#include "server/admin/references.hpp"
#include "server/admin/routes.hpp"
#include "server/http/refusal.hpp"

namespace sluice::server::admin {
namespace {

constexpr std::size_t kMostCompared = 1000;  // ids that a refusal compares with an unknown one

// Comparison of entity tags by RFC 9110 section 8.8.3.2. The server's tags are strong, but a proxy that compresses
// makes them weak.
enum class Comparison : std::uint8_t { strong, weak };

// Whether a list of entity tags is "*" or contains `tag`.
bool lists_tag(std::string_view list, const std::string& tag, Comparison comparison) {
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

std::string why_unmatched(std::string_view if_match, const store::StoredObject* found) {
  if (found == nullptr) return "There is no such object, so no version can match If-Match.";
  if (!if_match.contains('"')) {
    return fmt::format("If-Match takes the version in quotes, as the header ETag has it: If-Match: {}.", etag(*found));
  }
  return fmt::format("The object has version {} now. Read it again, and repeat your change on that version.",
                     found->version);
}

}  // namespace

std::string etag(const store::StoredObject& object) { return fmt::format("\"{}\"", object.version); }

std::string tenant_of(const Context& context, Kind kind) {
  if (!info(kind).in_tenant()) return {};
  if (const std::string_view given = context.call.parameter("tenant_id"); !given.empty()) return std::string(given);
  return context.principal.tenant_ids.size() == 1 ? context.principal.tenant_ids.front() : std::string();
}

std::string only_tenant(postgres::Transaction& tx) {
  const pqxx::result rows = tx.exec_text("SELECT id FROM tenants LIMIT 2");
  return rows.size() == 1 ? rows[0][0].c_str() : std::string();
}

std::string required_tenant(const Context& context, Kind kind) {
  std::string tenant = tenant_of(context, kind);
  if (info(kind).local_id && tenant.empty()) {
    http::refuse_fault(
        422, "?tenant_id",
        fmt::format("tenant_id is missing: ids of {} are unique only within a tenant", info(kind).table()));
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

void refuse_members(const Call& call) {
  if (call.body.empty()) return;
  json::Tree tree;
  json::FaultList found;
  const json::Place root;
  json::Fields fields(read_body(call, tree), root, found);
  fields.reject_unknown();
  if (found.count() > 0) http::refuse_faults(422, found.take());
}

bool is_given(const json::Value& body, std::string_view name) {
  const json::Value* const found = body.find(name);
  return found != nullptr && found->type() != json::Type::null;
}

std::vector<std::string_view> members_to_drop(const json::Value& body, std::string_view secret) {
  std::vector<std::string_view> names(kReadOnly.begin(), kReadOnly.end());
  if (!is_given(body, secret)) names.push_back(secret);
  return names;
}

void refuse_unknown(Context& context, Kind kind, const std::string& tenant_id, const std::string& id) {
  std::string detail = fmt::format("There is no {} {}.", info(kind).name, quoted(id));
  if (kind == Kind::plan || kind == Kind::policy) {
    const pqxx::result rows = context.tx.exec(
        fmt::format("SELECT id FROM {} WHERE tenant_id = $1 ORDER BY id LIMIT {}", info(kind).table(), kMostCompared),
        tenant_id);
    NearestNames nearest(id);
    for (const auto& row : rows) nearest.offer(row[0].c_str());
    detail += did_you_mean(nearest.names());
  }
  throw http::Refusal(404, "not-found", detail);
}

store::StoredObject require(Context& context, Kind kind, store::Lock lock) {
  const std::string& id = context.call.path_values.front();
  const std::string tenant = required_tenant(context, kind);
  auto found = store::find(context.tx, kind, tenant, id, lock);
  if (!found) refuse_unknown(context, kind, tenant, id);
  return std::move(*found);
}

void check_conditions(const Call& call, const store::StoredObject* found) {
  if (!call.if_match.empty() && (found == nullptr || !lists_tag(call.if_match, etag(*found), Comparison::strong))) {
    throw http::Refusal(412, "precondition-failed", why_unmatched(call.if_match, found));
  }
  if (!call.if_none_match.empty() && found != nullptr &&
      lists_tag(call.if_none_match, etag(*found), Comparison::weak)) {
    throw http::Refusal(412, "precondition-failed",
                        "The object exists already, and If-None-Match demands that it does not.");
  }
}

bool has_current_version(const Call& call, const store::StoredObject& found) {
  return lists_tag(call.if_none_match, etag(found), Comparison::weak);
}

void write_members(json::Writer& out, const store::StoredObject& object, const Faults& warnings) {
  out.members_of(store::shown_document(object.key.kind, object.document));
  out.field("version", object.version);
  out.field("created_at", object.created_at);
  out.field("updated_at", object.updated_at);
  if (!object.used_at.empty()) out.field("last_used_at", object.used_at);
  if (warnings.empty()) return;
  out.key("warnings");
  out.begin_list();
  for (const Fault& warning : warnings) {
    out.begin_object();
    out.field("pointer", warning.pointer);
    out.field("detail", warning.text);
    out.end_object();
  }
  out.end_list();
}

Answer show(const store::StoredObject& object, const Faults& warnings) {
  Answer answer;
  answer.object = open_object();
  write_members(*answer.object, object, warnings);
  answer.headers = fmt::format("ETag: {}\r\n", etag(object));
  return answer;
}

std::string body_tenant(const Context& context, const json::Value& body, Kind kind) {
  if (!info(kind).in_tenant()) return {};
  const std::string_view query_tenant = context.call.parameter("tenant_id");
  const std::string_view named_tenant = body.text_of("tenant_id");
  if (named_tenant.empty()) return tenant_of(context, kind);
  if (!query_tenant.empty() && query_tenant != named_tenant) {
    http::refuse_fault(422, "/tenant_id",
                       fmt::format("the body says {}, but the query says {}: make them equal, or leave one out",
                                   quoted(named_tenant), quoted(query_tenant)));
  }
  return std::string(named_tenant);
}

json::Value with_ids(json::Tree& tree, const json::Value& body, Kind kind, const std::string& tenant_id,
                     const std::string& id) {
  Faults faults;
  std::vector<json::Member> added;
  const auto check_or_add = [&](std::string_view name, const std::string& value) {
    if (value.empty()) return;
    if (!is_given(body, name)) {
      added.push_back({name, tree.string(value)});
    } else if (const json::Value* const given = body.find(name);
               given->type() == json::Type::string && given->text() != value) {
      faults.push_back(
          {fmt::format("/{}", name),
           fmt::format(
               "the body says {}, but the path or the query says {}: make them equal, or leave it out of the body",
               quoted(given->text()), quoted(value))});
    }
  };
  if (info(kind).in_tenant()) check_or_add("tenant_id", tenant_id);
  check_or_add("id", id);
  if (!faults.empty()) http::refuse_faults(422, std::move(faults));
  return json::edited(tree, body, kReadOnly, added);
}

Answer insert_draft(Context& context, const Draft& draft, std::string_view collection, std::string_view action) {
  if (draft.rules != nullptr) context.compiled.push_back(draft.rules);
  const store::StoredObject made =
      store::insert(context.tx, draft.key, draft.organization_id, draft.document, draft.extra);
  context.log.inserted(action, made);
  Answer answer = show(made, draft.warnings);
  answer.status = 201;
  const std::string tenant = info(made.key.kind).local_id ? fmt::format("?tenant_id={}", made.key.tenant_id) : "";
  answer.headers += fmt::format("Location: {}/{}{}\r\n", collection, made.key.id, tenant);
  return answer;
}

Answer store(Context& context, const Draft& draft, const store::StoredObject& before, std::string_view action) {
  if (draft.organization_id != before.organization_id || draft.key.tenant_id != before.key.tenant_id) {
    http::refuse_fault(
        422, info(before.key.kind).in_tenant() ? "/tenant_id" : "/organization_id",
        fmt::format("this {0} cannot move to another owner: create a new {0} there", info(before.key.kind).name));
  }
  if (draft.document == before.document) return show(before, draft.warnings);
  if (draft.rules != nullptr) context.compiled.push_back(draft.rules);
  const store::StoredObject after = store::update(context.tx, before, draft.document, draft.extra);
  context.log.updated(action, before, after);
  return show(after, draft.warnings);
}

Answer remove_object(Context& context, const store::StoredObject& before) {
  refuse_referenced(context.tx, before.key);
  store::remove(context.tx, before.key.view());
  context.log.removed("delete", before);
  remove_quotas(context.tx, context.log, before.key);
  Answer answer;
  answer.status = 204;
  return answer;
}

}  // namespace sluice::server::admin
