#include "server/admin/drafts.hpp"

#include <array>

#include <fmt/core.h>
#include <pqxx/pqxx>

#include "common/base/clock.hpp"
#include "common/base/crypto.hpp"
#include "common/base/text.hpp"
#include "common/base/timestamp.hpp"
#include "common/json/fields.hpp"
#include "common/json/text.hpp"
#include "common/objects/bundle_json.hpp"
#include "common/objects/override_json.hpp"
#include "common/objects/policy_json.hpp"
#include "common/objects/tenant_json.hpp"
#include "common/policy/match_expr.hpp"
#include "common/policy/policy_index.hpp"
#include "common/policy/scope.hpp"
#include "common/policy/snapshot.hpp"
#include "common/policy/warnings.hpp"
#include "server/http/refusal.hpp"

namespace sluice::server::admin {
namespace {

constexpr std::size_t kMaxConflicts = 20;  // of the policies in the same place, how many are looked at

// The ids of the body, as far as they can be read; what is wrong with them the bundle's reader says.
struct BodyIds {
  std::string tenant_id;
  std::string id;
  std::string plan_id;
  std::string policy_id;
  std::string action;
};
BodyIds ids_of(const std::string& body) {
  json::Tree tree;
  const auto value = tree.parse(body);
  if (!value) return {};
  return {std::string(value->text_of("tenant_id")), std::string(value->text_of("id")),
          std::string(value->text_of("plan_id")), std::string(value->text_of("policy_id")),
          std::string(value->text_of("action"))};
}

// A bundle in the making: the body first in its list, and around it what belongs to it.
class Surroundings {
 public:
  Surroundings(postgres::Transaction& tx, std::string_view list, const std::string& body) : tx_(tx), list_(list) {
    add(list, body);
  }

  void add(std::string_view list, const std::string& document) {
    std::string& text = lists_[slot(list)];
    text.append(text.empty() ? "" : ",").append(document);
  }
  void add(const pqxx::result& rows, std::string_view list) {
    for (const auto& row : rows) add(list, row[0].c_str());
  }

  // The organization as the documents of tenants name it.
  void add_tenant(const std::string& tenant_id) {
    const auto tenant = store::find(tx_, Kind::tenant, tenant_id, tenant_id, store::Lock::none);
    if (!tenant) return;
    organization_id_ = tenant->key.organization_id;
    add("organizations", fmt::format(R"({{"id":{}}})", json::string_literal(organization_id_)));
    add("tenants", tenant->document);
  }
  void add_policy(const std::string& tenant_id, std::string_view policy_id) {
    const auto policy = store::find(tx_, Kind::policy, tenant_id, policy_id, store::Lock::share);
    if (!policy) return;
    add("policies", policy->document);
    if (const std::string plan_id = ids_of(policy->document).plan_id; !plan_id.empty()) add_plan(tenant_id, plan_id);
  }
  void add_plan(const std::string& tenant_id, std::string_view plan_id) {
    if (const auto plan = store::find(tx_, Kind::plan, tenant_id, plan_id, store::Lock::share))
      add("plans", plan->document);
  }

  const std::string& organization_id() const { return organization_id_; }

  // Refuses the body's faults; then those that it would make elsewhere.
  Bundle read() const;

 private:
  static constexpr std::array<std::string_view, 6> kLists{"organizations", "tenants", "plans",
                                                          "policies",      "keys",    "overrides"};
  static std::size_t slot(std::string_view list) {
    return static_cast<std::size_t>(std::ranges::find(kLists, list) - kLists.begin());
  }
  [[noreturn]] void refuse(Faults faults) const;

  postgres::Transaction& tx_;
  const std::string_view list_;
  std::array<std::string, kLists.size()> lists_;
  std::string organization_id_;
};

Bundle Surroundings::read() const {
  std::string text = R"({"format":"sluice/v1")";
  for (std::size_t i = 0; i < kLists.size(); ++i) {
    if (!lists_[i].empty()) text += fmt::format(R"(,"{}":[{}])", kLists[i], lists_[i]);
  }
  auto bundle = parse_bundle(text += '}', &policy::check_expression);
  if (!bundle) refuse(std::move(bundle.error()));
  // What only shows when an agent would compile it.
  if (auto built = policy::build_snapshot(*bundle, 0, SystemClock().now_us()); !built) refuse(std::move(built.error()));
  return std::move(*bundle);
}

void Surroundings::refuse(Faults faults) const {
  const std::string own = fmt::format("/{}/0", list_);
  Faults mine;
  Faults elsewhere;
  for (Fault& fault : faults) {
    fault.line = fault.column = 0;  // of a text nobody sent
    if (fault.pointer == own || fault.pointer.starts_with(own + "/")) {
      fault.pointer.erase(0, own.size());
      mine.push_back(std::move(fault));
    } else {
      elsewhere.push_back({"", fmt::format("this would break {}: {}", fault.pointer, fault.text)});
    }
  }
  http::refuse_faults(422, mine.empty() ? std::move(elsewhere) : std::move(mine));
}

// Of the whole bundle's warnings, those about the body.
Faults warnings_about(const Bundle& bundle, std::string_view list) {
  const std::string own = fmt::format("/{}/0", list);
  Faults found;
  for (Fault& warning : policy::warnings(bundle)) {
    if (warning.pointer != own && !warning.pointer.starts_with(own + "/")) continue;
    warning.pointer.erase(0, own.size());
    found.push_back(std::move(warning));
  }
  return found;
}

std::string digest_text(const std::string& text) {
  const Sha256Digest digest = sha256(text);
  return postgres::bytea({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

// Every request asks every policy without an indexable dimension: there may be few.
void check_unindexed(postgres::Transaction& tx, const Policy& item) {
  if (policy::is_indexable(policy::compile_scope(item.scope))) return;
  // Two that count at the same time would both find room for one more.
  store::find(tx, Kind::tenant, "", item.tenant_id, store::Lock::update);
  const pqxx::result rows =
      tx.exec("SELECT count(*) FROM policies WHERE tenant_id = $1 AND unindexed AND id <> $2", item.tenant_id, item.id);
  if (rows[0][0].as<std::size_t>() < policy::kMaxUnindexedPolicies) return;
  http::refuse_fault(
      422, "/scope",
      fmt::format("tenant {} has {} policies already whose scope no index can use (none but org, tenant and "
                  "\"*\"), and so are asked for every request: name another dimension",
                  quoted(item.tenant_id), policy::kMaxUnindexedPolicies));
}

// Policies that would conflict with this one: read beside it, so that the warnings name them. Those of the body's own
// place come behind the body, as a conflict is reported where it is found second.
Faults policy_warnings(postgres::Transaction& tx, const Policy& item) {
  const pqxx::result rows = tx.exec(
      fmt::format(
          "SELECT id FROM policies WHERE tenant_id = $1 AND place = $2::bytea AND id <> $3 AND coalesce(document "
          "->> 'enabled', 'true') = 'true' ORDER BY id LIMIT {}",
          kMaxConflicts),
      item.tenant_id, digest_text(policy::place_of(item)), item.id);
  Faults found;
  if (!item.enabled) return found;
  for (const auto& row : rows) {
    found.push_back(
        {"", fmt::format("conflicts with policy {}: both apply to the same requests with the same priority, "
                         "so only version and id decide; give one a priority, or remove it",
                         row[0].c_str())});
  }
  return found;
}

// REQUIRES: it was read with the bundle, so the limit is there.
const Limit& overridden_limit(const Bundle& bundle, const Override& item) {
  std::string plan_id = item.plan_id;
  const std::vector<Limit>* limits = nullptr;
  if (!item.policy_id.empty()) {
    const auto policy = std::ranges::find(bundle.policies, item.policy_id, &Policy::id);
    plan_id = policy->plan_id;
    limits = &policy->limits;
  }
  if (!plan_id.empty()) limits = &std::ranges::find(bundle.plans, plan_id, &Plan::id)->limits;
  return *std::ranges::find(*limits, item.limit_name, &Limit::name);
}

// There is one override of a limit for an identity; one that has ended stands in the way until it is removed.
void check_target(postgres::Transaction& tx, const Override& item, const std::string& target) {
  const pqxx::result rows = tx.exec(
      "SELECT id, coalesce(expires_at <= now(), false) FROM overrides WHERE tenant_id = $1 AND target = $2::bytea "
      "AND id <> $3",
      item.tenant_id, target, item.id);
  if (rows.empty()) return;
  const std::string text = fmt::format(
      "override {} replaces numbers of the same limit for the same identity: {}", quoted(rows[0][0].c_str()),
      rows[0][1].as<bool>() ? "it has ended and is about to be removed, so try again in some seconds"
                            : "change that one, or delete it");
  throw http::Refusal(409, "exists", text, {{"/identity", text}});
}

}  // namespace

std::vector<store::ExtraColumn> policy_columns(const Policy& policy) {
  const bool indexable = policy::is_indexable(policy::compile_scope(policy.scope));
  return {{"place", "bytea", digest_text(policy::place_of(policy))},
          {"unindexed", "boolean", indexable ? "false" : "true"}};
}

std::vector<store::ExtraColumn> override_columns(const Override& item) {
  return {{"target", "bytea", digest_text(target_of(item))},
          {"expires_at", "timestamptz",
           item.expires_at ? std::optional(format_timestamp(*item.expires_at)) : std::nullopt}};
}

std::optional<std::string> reserved_id_fault(const Override& item) {
  if (item.id != "clear") return std::nullopt;
  return "an override cannot be called \"clear\": POST /v1/admin/overrides/clear removes many; choose another id";
}

Draft draft_organization(postgres::Transaction& tx, const std::string& body) {
  const Bundle bundle = Surroundings(tx, "organizations", body).read();
  const Organization& item = bundle.organizations.front();
  return {.key = {Kind::organization, item.id, "", item.id},
          .document = canonical(item, write_organization),
          .extra = {},
          .warnings = {}};
}

Draft draft_tenant(postgres::Transaction& tx, const std::string& body) {
  Surroundings surroundings(tx, "tenants", body);
  json::Tree tree;
  const auto value = tree.parse(body);
  const json::Value* const given = value ? value->find("organization_id") : nullptr;
  // To a bundle's reader a tenant may be of nobody.
  if (value && (given == nullptr || given->type() == json::Type::null)) {
    http::refuse_fault(422, "/organization_id", "organization_id is missing: every tenant belongs to an organization");
  }
  const std::string_view organization = value ? value->text_of("organization_id") : std::string_view();
  if (const auto found = store::find(tx, Kind::organization, "", organization)) {
    surroundings.add("organizations", found->document);
  }
  const Bundle bundle = surroundings.read();
  const Tenant& item = bundle.tenants.front();
  return {.key = {Kind::tenant, item.organization_id, item.id, item.id},
          .document = canonical(item, write_tenant),
          .extra = {},
          .warnings = {}};
}

Draft draft_plan(postgres::Transaction& tx, const std::string& body) {
  Surroundings surroundings(tx, "plans", body);
  const BodyIds ids = ids_of(body);
  surroundings.add_tenant(ids.tenant_id);
  surroundings.add(
      tx.exec("SELECT document FROM policies WHERE tenant_id = $1 AND plan_id = $2", ids.tenant_id, ids.id),
      "policies");
  surroundings.add(tx.exec("SELECT o.document FROM overrides o WHERE tenant_id = $1 AND (plan_id = $2 OR policy_id IN "
                           "(SELECT id FROM policies WHERE tenant_id = $1 AND plan_id = $2))",
                           ids.tenant_id, ids.id),
                   "overrides");
  const Bundle bundle = surroundings.read();
  const Plan& item = bundle.plans.front();
  return {.key = {Kind::plan, surroundings.organization_id(), item.tenant_id, item.id},
          .document = canonical(item, write_plan),
          .extra = {},
          .warnings = warnings_about(bundle, "plans")};
}

Draft draft_policy(postgres::Transaction& tx, const std::string& body) {
  Surroundings surroundings(tx, "policies", body);
  const BodyIds ids = ids_of(body);
  surroundings.add_tenant(ids.tenant_id);
  if (!ids.plan_id.empty()) surroundings.add_plan(ids.tenant_id, ids.plan_id);
  surroundings.add(
      tx.exec("SELECT document FROM overrides WHERE tenant_id = $1 AND policy_id = $2", ids.tenant_id, ids.id),
      "overrides");
  // One that delays bounds how far the numbers of its plan's overrides may go.
  if (ids.action == "delay" && !ids.plan_id.empty()) {
    surroundings.add(
        tx.exec("SELECT document FROM overrides WHERE tenant_id = $1 AND plan_id = $2", ids.tenant_id, ids.plan_id),
        "overrides");
  }
  const Bundle bundle = surroundings.read();
  const Policy& item = bundle.policies.front();
  check_unindexed(tx, item);
  Faults warnings = warnings_about(bundle, "policies");
  for (Fault& conflict : policy_warnings(tx, item)) warnings.push_back(std::move(conflict));
  return {.key = {Kind::policy, surroundings.organization_id(), item.tenant_id, item.id},
          .document = canonical(item, write_policy),
          .extra = policy_columns(item),
          .warnings = std::move(warnings)};
}

Draft draft_key(postgres::Transaction& tx, const std::string& body) {
  Surroundings surroundings(tx, "keys", body);
  surroundings.add_tenant(ids_of(body).tenant_id);
  const Bundle bundle = surroundings.read();
  const ApiKey& item = bundle.keys.front();
  return {.key = {Kind::key, surroundings.organization_id(), item.tenant_id, item.id},
          .document = canonical(item, write_key),
          .extra = {},
          .warnings = {}};
}

Draft draft_override(postgres::Transaction& tx, const std::string& body) {
  Surroundings surroundings(tx, "overrides", body);
  const BodyIds ids = ids_of(body);
  surroundings.add_tenant(ids.tenant_id);
  if (!ids.policy_id.empty()) surroundings.add_policy(ids.tenant_id, ids.policy_id);
  if (!ids.plan_id.empty()) {
    surroundings.add_plan(ids.tenant_id, ids.plan_id);
    // Those that delay bound how far the plan's numbers go.
    surroundings.add(
        tx.exec("SELECT document FROM policies WHERE tenant_id = $1 AND plan_id = $2 AND document ->> 'action' "
                "= 'delay'",
                ids.tenant_id, ids.plan_id),
        "policies");
  }
  const Bundle bundle = surroundings.read();
  const Override& item = bundle.overrides.front();
  if (auto reserved = reserved_id_fault(item)) http::refuse_fault(422, "/id", std::move(*reserved));
  check_target(tx, item, digest_text(target_of(item)));
  const Limit& limit = overridden_limit(bundle, item);
  return {
      .key = {Kind::override_, surroundings.organization_id(), item.tenant_id, item.id},
      .document = canonical(item, [&limit](json::Writer& out,
                                           const Override& written) { write_override(out, written, limit.algorithm); }),
      .extra = override_columns(item),
      .warnings = {}};
}

}  // namespace sluice::server::admin
