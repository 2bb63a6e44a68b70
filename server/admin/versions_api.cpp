#include "server/admin/versions_api.hpp"

#include <charconv>
#include <limits>

#include <fmt/core.h>
#include <pqxx/pqxx>

#include "common/base/text.hpp"
#include "common/json/edit.hpp"
#include "common/json/fields.hpp"
#include "common/json/text.hpp"
#include "server/admin/paging.hpp"
#include "server/http/refusal.hpp"
#include "server/store/statement.hpp"

namespace sluice::server::admin {
namespace {

constexpr std::int64_t kNewest = std::numeric_limits<std::int64_t>::max();

std::optional<std::int64_t> number_from(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || number < 1) return std::nullopt;
  return number;
}

// An object that exists or was deleted.
struct PastObject {
  ObjectId key;
  std::string organization_id;
};

// Refuses with 404 if the tenant does not exist. Does not check that the object exists.
PastObject key_of_path(Context& context, Kind kind) {
  const std::string tenant_id = required_tenant(context, kind);
  const std::string& id = context.call.path_values.front();
  const auto tenant = store::find(context.tx, Kind::tenant, "", tenant_id);
  if (!tenant) http::refuse_unknown(info(kind).name, id);
  return {.key = {.kind = kind, .tenant_id = tenant_id, .id = id}, .organization_id = tenant->organization_id};
}

pqxx::result versions(postgres::Transaction& tx, const PastObject& object, std::int64_t newest, std::size_t limit) {
  store::Statement statement(
      fmt::format("SELECT version, revision, {}, actor_id, document FROM versions", store::as_timestamp("made_at")));
  statement.add(" WHERE kind = $", std::string(info(object.key.kind).name))
      .add(" AND organization_id = $", object.organization_id);
  statement.add(" AND tenant_id = $", object.key.tenant_id).add(" AND id = $", object.key.id);
  statement.add(" AND version <= $::bigint ORDER BY version DESC", std::to_string(newest));
  return statement.add(fmt::format(" LIMIT {}", limit)).run(tx);
}

std::string version_document(Kind kind, const pqxx::row& row) {
  const bool removed = row[4].is_null();
  json::Writer out = open_object();
  out.field("version", row[0].as<std::int64_t>());
  out.field("revision", row[1].as<std::int64_t>());
  out.field("at", row[2].c_str());
  out.field("actor_id", row[3].c_str());
  out.field("removed", removed);
  out.key("document");
  out.raw(removed ? "null" : store::shown_document(kind, row[4].c_str()));
  out.end_object();
  return out.take();
}

std::int64_t read_version(const Call& call) {
  json::Tree tree;
  json::FaultList faults;
  const json::Place root;
  json::Fields fields(read_body(call, tree), root, faults);
  fields.require("version", "the version to restore");
  const auto version = fields.integer("version", 1, kNewest);
  fields.reject_unknown();
  if (faults.count() > 0) http::refuse_faults(422, faults.take());
  return *version;
}

// Returns the number as the body writes it: 25.0 stays 25.0. Policies have it under the name rollout_percent.
json::Value read_percent(const Call& call, json::Tree& tree) {
  json::FaultList faults;
  const json::Place root;
  const json::Value body = read_body(call, tree);
  json::Fields fields(body, root, faults);
  fields.accept_alias("rollout_percent", "percent");
  fields.require("percent", "the share of subjects, from 0 to 100");
  fields.number("percent", 0, 100, 2);
  fields.reject_unknown();
  if (faults.count() > 0) http::refuse_faults(422, faults.take());
  return *fields.take("percent");
}

}  // namespace

Answer list_versions(Context& context, Kind kind) {
  const store::Page page = read_page(context.call);
  const auto after = page.after_id.empty() ? kNewest : number_from(page.after_id);
  if (!after) refuse_cursor();
  const PastObject object = key_of_path(context, kind);
  const pqxx::result rows = versions(context.tx, object, *after == kNewest ? kNewest : *after - 1, page.limit + 1);
  if (rows.empty() && page.after_id.empty()) refuse_unknown(context, kind, object.key.tenant_id, object.key.id);
  std::vector<std::string> items;
  std::string next;
  for (const auto& row : rows) {
    if (items.size() == page.limit) {
      next = cursor_after("", rows[row.num() - 1][0].c_str());
      break;
    }
    items.push_back(version_document(kind, row));
  }
  return list_answer(next, items);
}

Answer get_version(Context& context, Kind kind) {
  const PastObject object = key_of_path(context, kind);
  const std::string& text = context.call.path_values.back();
  const auto version = number_from(text);
  const pqxx::result rows = version ? versions(context.tx, object, *version, 1) : pqxx::result();
  if (rows.empty() || rows[0][0].as<std::int64_t>() != *version) {
    http::refuse_unknown(fmt::format("version {} of {}", quoted(text), info(kind).name), object.key.id);
  }
  Answer answer;
  answer.body = version_document(kind, rows[0]);
  return answer;
}

Answer roll_back(Context& context, const Resource& resource) {
  const std::int64_t version = read_version(context.call);
  const PastObject object = key_of_path(context, resource.kind);
  const ObjectId& key = object.key;
  const auto before = store::find(context.tx, key.kind, key.tenant_id, key.id, store::Lock::update);
  const pqxx::result rows = versions(context.tx, object, version, 1);
  if (!before && rows.empty()) refuse_unknown(context, key.kind, key.tenant_id, key.id);
  check_conditions(context.call, before ? &*before : nullptr);
  if (rows.empty() || rows[0][0].as<std::int64_t>() != version) {
    http::refuse_fault(422, "/version",
                       fmt::format("there is no version {} of {} {}", version, info(key.kind).name, quoted(key.id)));
  }
  if (rows[0][4].is_null()) {
    http::refuse_fault(
        422, "/version",
        fmt::format("version {} is the removal of the object: name an earlier version, or delete the object", version));
  }
  json::Tree tree;
  const Draft draft =
      resource.draft(context.tx, tree.parse(store::shown_document(key.kind, rows[0][4].c_str())).value());
  if (!before) return insert_draft(context, draft, resource.collection, "rollback");
  return store(context, draft, *before, "rollback");
}

Answer roll_out(Context& context) {
  json::Tree tree;
  const json::Member percent{"rollout_percent", read_percent(context.call, tree)};
  const store::StoredObject before = require(context, Kind::policy, store::Lock::update);
  check_conditions(context.call, &before);
  const json::Value document = tree.parse(store::shown_document(Kind::policy, before.document)).value();
  const Draft draft = draft_policy(context.tx, json::edited(tree, document, {}, {&percent, 1}));
  return store(context, draft, before, "rollout");
}

}  // namespace sluice::server::admin
