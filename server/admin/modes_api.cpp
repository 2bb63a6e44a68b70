#include "server/admin/modes_api.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "common/domain/enum_text.hpp"
#include "common/json/edit.hpp"
#include "common/json/fields.hpp"
#include "server/admin/answers.hpp"
#include "server/admin/drafts.hpp"
#include "server/admin/object_parts.hpp"
#include "server/admin/paging.hpp"
#include "server/http/refusal.hpp"

namespace sluice::server::admin {
namespace {

constexpr std::string_view kGlobal = "global";

Mode mode_of(const store::StoredObject& object) {
  json::Tree tree;
  const json::Value document = tree.parse(object.document).value_or(json::Value());
  return mode_from(document.text_of("mode")).value_or(Mode::enforce);
}

store::StoredObject global_setting(Context& context, store::Lock lock) {
  auto found = store::find(context.tx, Kind::setting, "", kGlobal, lock);
  if (!found) http::refuse_unknown("setting", kGlobal);
  return std::move(*found);
}

void write_mode(json::Writer& out, const store::StoredObject& tenant, Mode global) {
  const Mode mode = mode_of(tenant);
  out.field("tenant_id", tenant.key.id);
  out.field("organization_id", tenant.organization_id);
  out.field("mode", to_string(mode));
  out.field("effective", to_string(std::max(mode, global)));
  out.field("version", tenant.version);
}

Answer show_mode(Context& context, const store::StoredObject& tenant) {
  Answer answer;
  answer.object = open_object();
  write_mode(*answer.object, tenant, mode_of(global_setting(context, store::Lock::none)));
  answer.headers = fmt::format("ETag: {}\r\n", etag(tenant));
  return answer;
}

// Ignores the members that GET adds, so a caller can PUT the answer of a GET.
Mode read_mode(const Call& call) {
  json::Tree tree;
  json::FaultList faults;
  const json::Place root;
  json::Fields fields(read_body(call, tree), root, faults);
  for (const std::string_view name : kReadOnly) fields.take(name);
  for (const std::string_view name : {"tenant_id", "organization_id", "effective"}) fields.take(name);
  fields.require("mode", kModeNames);
  const auto mode = fields.choice("mode", &mode_from, kModeNames);
  fields.reject_unknown();
  if (faults.count() > 0) http::refuse_faults(422, faults.take());
  return *mode;
}

}  // namespace

Answer list_modes(Context& context) {
  std::vector<store::Filter> filters;
  if (const auto value = context.call.parameter("organization_id"); !value.empty()) {
    filters.push_back({"organization_id = $", std::string(value)});
  }
  if (const auto value = context.call.parameter("mode"); !value.empty()) {
    check_choice("mode", value, kModeChoices);
    filters.push_back({"coalesce(document ->> 'mode', 'enforce') = $", std::string(value)});
  }
  const store::Page page = read_page(context.call);
  const store::StoredObject global = global_setting(context, store::Lock::none);
  std::vector<store::StoredObject> tenants = store::list(context.tx, Kind::tenant, filters, page);
  const std::string next = cut_page(tenants, page);
  Answer answer;
  answer.object = open_object();
  answer.object->key("global");
  answer.object->begin_object();
  write_members(*answer.object, global);
  answer.object->end_object();
  write_list(*answer.object, next, [&](json::Writer& out) {
    for (const store::StoredObject& tenant : tenants) {
      out.begin_object();
      write_mode(out, tenant, mode_of(global));
      out.end_object();
    }
  });
  return answer;
}

Answer get_global_mode(Context& context) { return show(global_setting(context, store::Lock::none)); }

Answer put_global_mode(Context& context) {
  const Mode mode = read_mode(context.call);
  const store::StoredObject before = global_setting(context, store::Lock::update);
  check_conditions(context.call, &before);
  const Draft draft{.key = before.key,
                    .organization_id = before.organization_id,
                    .document = fmt::format(R"({{"mode":"{}"}})", to_string(mode)),
                    .extra = {},
                    .warnings = {}};
  return store(context, draft, before, "mode");
}

Answer get_tenant_mode(Context& context) {
  return show_mode(context, require(context, Kind::tenant, store::Lock::none));
}

Answer put_tenant_mode(Context& context) {
  const Mode mode = read_mode(context.call);
  const store::StoredObject before = require(context, Kind::tenant, store::Lock::update);
  check_conditions(context.call, &before);
  json::Tree tree;
  const json::Member changed{"mode", tree.string(to_string(mode))};
  const json::Value document = tree.parse(before.document).value();
  const Draft draft = draft_tenant(context.tx, json::edited(tree, document, {}, {&changed, 1}));
  store(context, draft, before, "mode");
  return show_mode(context, require(context, Kind::tenant, store::Lock::none));
}

}  // namespace sluice::server::admin
