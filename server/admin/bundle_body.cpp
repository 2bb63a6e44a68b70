#include "server/admin/bundle_body.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <vector>

#include <fmt/core.h>

#include "common/json/edit.hpp"
#include "common/json/fault_place.hpp"
#include "common/objects/bundle_json.hpp"
#include "common/objects/bundle_lists.hpp"
#include "common/policy/match_expr.hpp"
#include "common/policy/snapshot.hpp"
#include "common/policy/warnings.hpp"
#include "server/admin/object_parts.hpp"
#include "server/http/refusal.hpp"
#include "server/store/bulk.hpp"

namespace sluice::server::admin {

namespace {

// The bundle with further items at the end of one of its lists. `items` holds the list of the result.
json::Value with_items(json::Tree& tree, const json::Value& document, std::string_view list,
                       const std::vector<std::string>& added, std::span<const std::string_view> dropped,
                       std::vector<json::Value>& items) {
  const std::span<json::Value> listed = document.items_of(list);
  items.assign(listed.begin(), listed.end());
  for (const std::string& text : added) items.push_back(json::edited(tree, tree.parse(text).value(), dropped));
  const json::Member member{list, json::Value(std::span(items))};
  return json::edited(tree, document, {}, {&member, 1});
}

// Whether a bundle may leave out items of the list: it has the list, or leaves it out.
bool takes_items(const json::Value& document, std::string_view list) {
  const json::Type given = document.get(list).type();
  return given == json::Type::null || given == json::Type::array;
}

// The documents of the stored objects, as far as there are such.
std::vector<std::string> documents_of(postgres::Transaction& tx, Kind kind, const std::vector<ObjectId>& keys) {
  std::vector<std::string> documents;
  if (keys.empty()) return documents;
  for (store::StoredObject& object : store::find_all(tx, kind, keys)) documents.push_back(std::move(object.document));
  return documents;
}

// Appends the stored organizations that the bundle's tenants name, and that it does not list. Who is limited to one
// organization learns of no other.
json::Value with_stored_organizations(Context& context, json::Tree& tree, const json::Value& document,
                                      std::vector<json::Value>& items) {
  if (!takes_items(document, "organizations")) return document;
  std::set<std::string_view> known;
  for (const json::Value& organization : document.items_of("organizations")) known.insert(organization.text_of("id"));
  std::vector<ObjectId> keys;
  for (const json::Value& tenant : document.items_of("tenants")) {
    const std::string_view id = tenant.text_of("organization_id");
    const std::string& own = context.principal.organization_id;
    if (id.empty() || (!own.empty() && id != own) || !known.insert(id).second) continue;
    keys.push_back({.kind = Kind::organization, .tenant_id = "", .id = std::string(id)});
  }
  const auto documents = documents_of(context.tx, Kind::organization, keys);
  return documents.empty() ? document : with_items(tree, document, "organizations", documents, {}, items);
}

// The tenants that objects of the bundle belong to, and that it does not list.
std::set<std::string> unlisted_tenants(postgres::Transaction& tx, const json::Value& document) {
  std::set<std::string_view> listed;
  for (const json::Value& tenant : document.items_of("tenants")) listed.insert(tenant.text_of("id"));
  std::set<std::string> unlisted;
  bool names_none = document.get("tenants").type() == json::Type::null;  // an empty list means no tenant
  for (const Kind kind : kAllKinds) {
    if (!info(kind).in_bundle || !info(kind).in_tenant() || kind == Kind::tenant) continue;
    for (const json::Value& item : document.items_of(info(kind).plural)) {
      const std::string_view id = item.text_of("tenant_id");
      if (id.empty()) continue;
      names_none = false;
      if (!listed.contains(id)) unlisted.emplace(id);
    }
  }
  if (!names_none) return unlisted;
  if (std::string only = only_tenant(tx); !only.empty()) unlisted.insert(std::move(only));
  return unlisted;
}

// Appends the stored tenants that the bundle leaves out to its tenants.
json::Value with_stored_tenants(Context& context, json::Tree& tree, const json::Value& document,
                                std::vector<json::Value>& items) {
  static constexpr std::array<std::string_view, 1> kDropped{"organization_id"};
  if (!takes_items(document, "tenants")) return document;
  std::vector<ObjectId> keys;
  for (const std::string& id : unlisted_tenants(context.tx, document)) {
    keys.push_back({.kind = Kind::tenant, .tenant_id = id, .id = id});
  }
  const auto documents = documents_of(context.tx, Kind::tenant, keys);
  return documents.empty() ? document : with_items(tree, document, "tenants", documents, kDropped, items);
}

}  // namespace

BundleBody::BundleBody(Context& context) : call_(context.call) {
  {
    json::Tree tree;  // large, so it is freed before the bundle is compiled
    std::vector<json::Value> organizations;
    std::vector<json::Value> tenants;
    const json::Value body = parse(tree);
    record_lists(body);
    const bool is_object = body.type() == json::Type::object;
    json::Value document = body;
    if (is_object) {
      document = with_stored_organizations(context, tree, document, organizations);
      document = with_stored_tenants(context, tree, document, tenants);
    }
    auto read = read_written_bundle(document, &policy::check_expression, warnings);
    if (!read) refuse(std::move(read.error()));
    bundle = std::move(*read);
  }
  if (auto built = policy::build_snapshot(bundle, 0, context.now_us); !built) refuse(std::move(built.error()));
  std::ranges::move(policy::warnings(bundle, context.now_us), std::back_inserter(warnings));
  locate(warnings);
}

json::Value BundleBody::parse(json::Tree& tree) {
  if (call_.yaml) {
    auto converted = yaml::json_of_yaml(call_.body);
    if (!converted) http::refuse_faults(400, {std::move(converted.error())});
    yaml_ = std::move(*converted);
    call_.memory->raise_to(http::weight_of_yaml(call_.body) + http::weight_of_json(yaml_.json));
  }
  const auto document = tree.parse(call_.yaml ? yaml_.json : call_.body);
  if (!document) {
    Faults faults{document.error()};
    if (call_.yaml) yaml_.locate(faults);
    http::refuse_faults(400, std::move(faults));
  }
  return *document;
}

void BundleBody::record_lists(const json::Value& document) {
  for (const Kind kind : kAllKinds) {
    if (!info(kind).in_bundle) continue;
    listed_[static_cast<std::size_t>(kind)] = document.get(info(kind).plural).type() == json::Type::array;
  }
  for (const Kind kind : {Kind::plan, Kind::policy}) {
    const std::span<json::Value> items = document.items_of(info(kind).plural);
    for (std::size_t i = 0; i < items.size(); ++i) {
      const bool given = items[i].get("require_key_by").type() != json::Type::null;
      if (!given) without_requirement_[static_cast<std::size_t>(kind)].push_back(i);
    }
  }
  has_mode_ = document.get("mode").type() != json::Type::null;
}

std::string BundleBody::pointer_to(const ObjectId& key) const {
  const BundleListAccess& access = list_access(key.kind);
  std::size_t index = 0;
  while (access.id(bundle, index) != key.view()) ++index;
  return fmt::format("/{}/{}", info(key.kind).plural, index);
}

void BundleBody::locate(Faults& faults) const {
  if (call_.yaml) {
    yaml_.locate(faults);
  } else {
    json::locate_faults(call_.body, faults);
  }
}

void BundleBody::refuse(Faults faults) const {
  locate(faults);
  http::refuse_faults(422, std::move(faults));
}

}  // namespace sluice::server::admin
