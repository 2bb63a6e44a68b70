#include "server/admin/quotas_api.hpp"

#include <fmt/core.h>

#include "common/json/edit.hpp"
#include "common/json/fields.hpp"
#include "common/json/text.hpp"
#include "server/admin/answers.hpp"
#include "server/admin/drafts.hpp"
#include "server/admin/object_parts.hpp"
#include "server/admin/quotas.hpp"
#include "server/fleet/fleet_store.hpp"
#include "server/http/refusal.hpp"

namespace sluice::server::admin {
namespace {

struct QuotaOwner {
  std::string organization_id;
  std::string tenant_id;  // "": the organization
  std::string id;

  ObjectId key() const { return {Kind::quota, tenant_id, id}; }
};

// Locks the owner, so that it is not removed meanwhile. Refuses 404.
QuotaOwner owner_of_path(Context& context, Kind kind, store::Lock lock) {
  const store::StoredObject found = require(context, kind, lock);
  return {.organization_id = kind == Kind::tenant ? found.organization_id : found.key.id,
          .tenant_id = kind == Kind::tenant ? found.key.id : "",
          .id = found.key.id};
}

std::optional<store::StoredObject> stored_quotas(Context& context, const QuotaOwner& owner, store::Lock lock) {
  return store::find(context.tx, Kind::quota, owner.tenant_id, owner.id, lock);
}

// Also counts agents that serve more tenants than the caller may see, because they use the quota too.
fleet::AgentUse agents_of(Context& context, const QuotaOwner& owner) {
  context.tx.enter(postgres::Scope::everything(context.principal.token_id));
  const fleet::AgentUse use = fleet::count_agents(context.tx, owner.organization_id, owner.tenant_id);
  context.tx.enter(context.principal.scope());
  return use;
}

Answer show_quotas(Context& context, const QuotaOwner& owner, const store::StoredObject* stored) {
  Answer answer;
  json::Writer& out = answer.object.emplace(open_object());
  out.field("organization_id", owner.organization_id);
  if (!owner.tenant_id.empty()) out.field("tenant_id", owner.tenant_id);
  out.key("quotas");
  out.raw(stored == nullptr ? "{}" : stored->document);
  out.key("limits");
  out.begin_object();
  write_quotas(out, quotas_of(context.tx, owner.organization_id, owner.tenant_id), context.default_rates);
  out.end_object();
  out.key("used");
  out.begin_object();
  write_amounts(out, use_of(context.tx, owner.organization_id, owner.tenant_id).amounts);
  const fleet::AgentUse agents = agents_of(context, owner);
  out.field("agents", agents.agents);
  out.field("agents_per_token", agents.per_token);
  out.end_object();
  if (stored != nullptr) {
    out.field("version", stored->version);
    answer.headers = fmt::format("ETag: {}\r\n", etag(*stored));
  }
  return answer;
}

// Returns the document: the quotas that the body sets. Ignores the members that GET adds.
std::string read_document(const Call& call) {
  json::Tree tree;
  json::FaultList found;
  const json::Place root;
  const json::Value body = read_body(call, tree);
  json::Fields fields(body, root, found);
  for (const std::string_view name : kReadOnly) fields.take(name);
  for (const std::string_view name : {"organization_id", "tenant_id", "limits", "used"}) fields.take(name);
  fields.require("quotas", "an object with the quotas to set, such as {\"policies\":20000}");
  const json::Value* const given = fields.take("quotas");
  if (given != nullptr && given->type() != json::Type::object) {
    fields.fault("quotas", json::wrong_type_text("quotas", *given, "an object"));
  }
  fields.reject_unknown();
  Faults faults = found.take();
  Quotas quotas;
  if (given != nullptr && given->type() == json::Type::object) {
    read_quotas(*given, root.member("quotas"), quotas, faults);
  }
  if (!faults.empty()) http::refuse_faults(422, std::move(faults));
  json::Writer out(json::Writer::Layout::compact);
  out.begin_object();
  for (const std::string_view name : kQuotaNames) {
    if (!is_given(*given, name)) continue;
    out.key(name);
    std::string number;
    json::append(number, given->get(name));
    out.raw(number);
  }
  out.end_object();
  return out.take();
}

}  // namespace

Answer get_quotas(Context& context, Kind owner_kind) {
  const QuotaOwner owner = owner_of_path(context, owner_kind, store::Lock::none);
  const auto stored = stored_quotas(context, owner, store::Lock::none);
  return show_quotas(context, owner, stored ? &*stored : nullptr);
}

Answer put_quotas(Context& context, Kind owner_kind) {
  const std::string document = read_document(context.call);
  const QuotaOwner owner = owner_of_path(context, owner_kind, store::Lock::share);
  const auto before = stored_quotas(context, owner, store::Lock::update);
  check_conditions(context.call, before ? &*before : nullptr);
  if (before && before->document == document) return show_quotas(context, owner, &*before);
  store::StoredObject after;
  if (before) {
    after = store::update(context.tx, *before, document);
    context.log.updated("update", *before, after);
  } else {
    after = store::insert(context.tx, owner.key(), owner.organization_id, document);
    context.log.inserted("create", after);
  }
  return show_quotas(context, owner, &after);
}

Answer delete_quotas(Context& context, Kind owner_kind) {
  const QuotaOwner owner = owner_of_path(context, owner_kind, store::Lock::share);
  const auto before = stored_quotas(context, owner, store::Lock::update);
  check_conditions(context.call, before ? &*before : nullptr);
  if (!before) http::refuse_unknown(info(Kind::quota).name, owner.id);
  remove_quotas(context.tx, context.log, {owner_kind, owner.tenant_id, owner.id});
  Answer answer;
  answer.status = 204;
  return answer;
}

void remove_quotas(postgres::Transaction& tx, store::ChangeLog& log, const ObjectId& removed) {
  if (removed.kind != Kind::organization && removed.kind != Kind::tenant) return;
  const auto stored =
      store::find(tx, Kind::quota, removed.kind == Kind::tenant ? removed.id : "", removed.id, store::Lock::update);
  if (!stored) return;
  store::remove(tx, stored->key.view());
  log.removed("delete", *stored);
}

}  // namespace sluice::server::admin
