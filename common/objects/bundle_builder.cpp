#include "common/objects/bundle_builder.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "common/base/text.hpp"
#include "common/domain/credential.hpp"
#include "common/domain/enum_text.hpp"
#include "common/domain/identifiers.hpp"
#include "common/objects/bundle_lists.hpp"
#include "common/objects/enforcement_json.hpp"
#include "common/objects/field_tables.hpp"
#include "common/objects/override_json.hpp"
#include "common/objects/policy_json.hpp"

namespace sluice {
namespace {

constexpr std::size_t kMinSaltBytes = 16;

}  // namespace

BundleBuilder::BundleBuilder(ExpressionCheck check) : check_(check) {
  for (const Kind kind : kAllKinds) ids_.emplace_back(info(kind).name);
}

void BundleBuilder::expect(Kind kind, std::size_t count) {
  if (!info(kind).in_bundle) return;
  if (kind == Kind::tenant) tenants_.set_count(count);
  list_access(kind).reserve(bundle_, count);
  ids(kind).reserve(count);
}

void BundleBuilder::read(Kind kind, const json::Value& value, const json::Place& at) {
  json::Fields fields(value, at, faults_);
  if (kind == Kind::setting) return read_settings(fields);
  list_access(kind).read(*this, fields);
}

ObjectIdView BundleBuilder::last(Kind kind) const {
  if (kind == Kind::setting) return {kind, "", ""};
  const BundleListAccess& access = list_access(kind);
  return access.id(bundle_, access.size(bundle_) - 1);
}

void BundleBuilder::add_id(Kind kind, json::Fields& fields, bool sound) {
  const ObjectIdView id = last(kind);
  const std::string_view scope = info(kind).local_id ? id.tenant_id : "";
  if (id.id.empty()) return ids(kind).add_invalid(scope, written_id(fields));
  ids(kind).add(fields, scope, id.id, {.index = list_access(kind).size(bundle_) - 1, .sound = sound});
}

void BundleBuilder::read_settings(json::Fields& fields) {
  if (const auto mode = fields.choice(tenant_field::kMode, &mode_from)) bundle_.mode = *mode;
  fields.reject_unknown();
}

void BundleBuilder::read_organization(json::Fields& fields, Organization& item) {
  item.id = read_id(fields, "organization");
  if (const auto name = fields.text(object_field::kName)) item.name = *name;
  add_id(Kind::organization, fields, true);
  fields.reject_unknown();
}

void BundleBuilder::read_tenant(json::Fields& fields, Tenant& item) {
  item.id = read_id(fields, "tenant");
  if (item.id.empty()) tenants_.add_invalid(written_id(fields));
  if (const auto name = fields.text(object_field::kName)) item.name = *name;
  if (const auto id = fields.text(tenant_field::kOrganizationId)) {
    item.organization_id = *id;
    ids(Kind::organization)
        .refer(fields, "organization_id", "", *id, ": create it, or list it in the bundle's organizations");
  }
  if (const auto mode = fields.choice(tenant_field::kMode, &mode_from)) item.mode = *mode;
  if (const auto answer = fields.text(tenant_field::kDefault)) {
    item.default_deny = *answer == "deny";
    if (*answer != "deny" && *answer != "allow") {
      fields.fault("default", "default must be allow or deny: it decides requests that no policy matches");
    }
  }
  if (const auto allows_plan_id = fields.boolean(tenant_field::kAllowsPlanId)) item.allows_plan_id = *allows_plan_id;
  if (const auto slash = fields.text(tenant_field::kTrailingSlash)) {
    item.trailing_slash = parse_trailing_slash(*slash);
    if (!item.trailing_slash) {
      fields.fault("trailing_slash",
                   fmt::format("trailing_slash must be same or distinct: it says whether /orders and /orders/ are one "
                               "resource; got {}",
                               quoted(*slash)));
    }
  }
  if (const auto record = fields.boolean(tenant_field::kRecordRequests)) item.record_requests = *record;
  tenants_.add(fields, item.id, item.organization_id);
  fields.reject_unknown();
}

void BundleBuilder::read_plan(json::Fields& fields, Plan& item) {
  const bool sound = sluice::read_plan(fields, tenants_, author_, item);
  if (!item.tenant_id.empty()) add_id(Kind::plan, fields, sound);
}

void BundleBuilder::read_policy(json::Fields& fields, Policy& item) {
  const bool sound = sluice::read_policy(fields, tenants_, author_, item);
  if (check_ != nullptr && !item.match_expr.empty()) {
    if (auto wrong = check_(item.match_expr)) {
      const bool in_metadata = !fields.present("match_expr");
      const json::Place metadata = fields.at().member("metadata");
      faults_.add(in_metadata ? metadata : fields.at(), "match_expr", std::move(*wrong));
    }
  }
  if (item.tenant_id.empty()) return;
  const bool fits_plan = item.plan_id.empty() || check_plan(fields, item, sound);
  add_id(Kind::policy, fields, sound && fits_plan);
}

// Returns false if the plan is unknown, or does not fit the policy.
bool BundleBuilder::check_plan(json::Fields& fields, const Policy& policy, bool sound) {
  const std::size_t faults_before = faults_.count();
  IdIndex::Entry* const plan = ids(Kind::plan).refer(fields, "plan_id", policy.tenant_id, policy.plan_id);
  if (plan == nullptr) return false;
  if (!sound || !plan->sound) return true;
  check_enforcement(fields, policy.enforcement, bundle_.plans[plan->index].limits, false);
  if (policy.enforcement.action == Action::delay) {
    plan->longest_delay = std::max(plan->longest_delay, policy.enforcement.max_delay);
  }
  return faults_.count() == faults_before;
}

void BundleBuilder::read_key(json::Fields& fields, ApiKey& item) {
  item.tenant_id = tenants_.read_tenant_id(fields);
  item.id = read_id(fields, "key");
  if (const auto name = fields.text(object_field::kName)) item.name = *name;
  static constexpr std::string_view kShape =
      "sha256:<32 to 64 hex digits of salt>:<64 hex digits>, as mint-key prints it; never the key itself";
  fields.require("key_hash", kShape);
  if (const auto hash = fields.text(key_field::kKeyHash)) {
    const auto parsed = parse_key_hash(*hash);
    if (!parsed || parsed->salt_size < kMinSaltBytes)
      fields.fault("key_hash", fmt::format("key_hash must be {}", kShape));
    item.key_hash = *hash;
    std::ranges::transform(item.key_hash, item.key_hash.begin(),
                           [](char c) { return c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c; });
  }
  item.expires_at = fields.timestamp(object_field::kExpiresAt);
  item.may_override = fields.boolean(key_field::kMayOverride).value_or(false);
  add_id(Kind::key, fields, true);
  fields.reject_unknown();
}

void BundleBuilder::read_override(json::Fields& fields, Override& item) {
  const std::size_t faults_before = faults_.count();
  sluice::read_override(fields, tenants_, author_,
                        {bundle_.plans, bundle_.policies, ids(Kind::plan), ids(Kind::policy)}, item);
  if (item.tenant_id.empty()) return;
  add_id(Kind::override_, fields, true);
  if (faults_.count() == faults_before) check_only_override_of_target(fields, item);
}

void BundleBuilder::check_only_override_of_target(json::Fields& fields, const Override& item) {
  const auto [other, is_new] = targets_.try_emplace(target_of(item), item.id);
  if (is_new) return;
  fields.fault("identity", fmt::format("override {} replaces numbers of the same limit for the same identity: keep one",
                                       quoted(other->second)));
}

}  // namespace sluice
