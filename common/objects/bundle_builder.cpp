#include "common/objects/bundle_builder.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "common/base/text.hpp"
#include "common/domain/credential.hpp"
#include "common/domain/enum_text.hpp"
#include "common/domain/identifiers.hpp"
#include "common/objects/enforcement_json.hpp"
#include "common/objects/override_json.hpp"
#include "common/objects/policy_json.hpp"

namespace sluice {
namespace {

constexpr std::size_t kMaxHashBytes = 256;
constexpr std::size_t kMinSaltBytes = 16;

}  // namespace

void BundleBuilder::expect(Kind kind, std::size_t count) {
  if (kind == Kind::tenant) {
    bundle_.tenants.reserve(count);
    tenants_.set_count(count);
  } else if (kind == Kind::policy) {
    bundle_.policies.reserve(count);
    policies_.reserve(count);
  } else if (kind == Kind::key) {
    bundle_.keys.reserve(count);
    keys_.reserve(count);
  }
}

void BundleBuilder::read(Kind kind, const json::Value& value, const json::Place& at) {
  json::Fields fields(value, at, faults_);
  switch (kind) {
    case Kind::setting:
      return read_settings(fields);
    case Kind::organization:
      return read_organization(fields);
    case Kind::tenant:
      return read_tenant(fields);
    case Kind::plan:
      return read_plan(fields);
    case Kind::policy:
      return read_policy(fields);
    case Kind::key:
      return read_key(fields);
    case Kind::override_:
      return read_override(fields);
    case Kind::token:
    case Kind::agent_token:
    case Kind::binding:
    case Kind::counter:
      return;
  }
}

ObjectIdView BundleBuilder::last(Kind kind) const {
  switch (kind) {
    case Kind::organization:
      return {kind, "", bundle_.organizations.back().id};
    case Kind::tenant:
      return {kind, "", bundle_.tenants.back().id};
    case Kind::plan:
      return {kind, bundle_.plans.back().tenant_id, bundle_.plans.back().id};
    case Kind::policy:
      return {kind, bundle_.policies.back().tenant_id, bundle_.policies.back().id};
    case Kind::key:
      return {kind, bundle_.keys.back().tenant_id, bundle_.keys.back().id};
    case Kind::override_:
      return {kind, bundle_.overrides.back().tenant_id, bundle_.overrides.back().id};
    case Kind::setting:
    case Kind::token:
    case Kind::agent_token:
    case Kind::binding:
    case Kind::counter:
      break;
  }
  return {kind, "", ""};
}

void BundleBuilder::read_settings(json::Fields& fields) {
  if (const auto mode = fields.choice("mode", &mode_from, kModeNames)) bundle_.mode = *mode;
  fields.reject_unknown();
}

void BundleBuilder::read_organization(json::Fields& fields) {
  Organization& item = bundle_.organizations.emplace_back();
  if (!fields.is_object()) return;
  item.id = read_id(fields, "organization");
  if (const auto name = fields.text("name", kMaxNameBytes)) item.name = *name;
  organizations_.add(fields, "", item.id, {.index = bundle_.organizations.size() - 1});
  fields.reject_unknown();
}

void BundleBuilder::read_tenant(json::Fields& fields) {
  Tenant& item = bundle_.tenants.emplace_back();
  if (!fields.is_object()) return;
  item.id = read_id(fields, "tenant");
  if (const auto name = fields.text("name", kMaxNameBytes)) item.name = *name;
  if (const auto id = fields.text("organization_id", kMaxNameBytes)) {
    item.organization_id = *id;
    if (organizations_.find("", *id) == nullptr) {
      fields.fault("organization_id",
                   fmt::format("organization {} does not exist: add it to organizations", quoted(*id)));
    }
  }
  if (const auto mode = fields.choice("mode", &mode_from, kModeNames)) item.mode = *mode;
  if (const auto answer = fields.text("default", kMaxNameBytes)) {
    item.default_deny = *answer == "deny";
    if (*answer != "deny" && *answer != "allow") {
      fields.fault("default", "default is what a request gets that no policy matches: allow or deny");
    }
  }
  if (const auto plan_calls = fields.boolean("plan_calls")) item.plan_calls = *plan_calls;
  tenants_.add(fields, item.id);
  fields.reject_unknown();
}

void BundleBuilder::read_plan(json::Fields& fields) {
  Plan& item = bundle_.plans.emplace_back();
  if (!fields.is_object()) return;
  const std::size_t faults_before = faults_.count();
  sluice::read_plan(fields, tenants_, item);
  if (item.tenant_id.empty()) return;
  plans_.add(fields, item.tenant_id, item.id,
             {.index = bundle_.plans.size() - 1, .sound = faults_.count() == faults_before});
}

void BundleBuilder::read_policy(json::Fields& fields) {
  Policy& item = bundle_.policies.emplace_back();
  if (!fields.is_object()) return;
  const std::size_t faults_before = faults_.count();
  sluice::read_policy(fields, tenants_, item);
  if (check_ != nullptr && !item.match_expr.empty()) {
    if (auto wrong = check_(item.match_expr)) fields.fault("match_expr", std::move(*wrong));
  }
  if (item.tenant_id.empty()) return;
  if (!item.plan_id.empty()) check_plan(fields, item, faults_.count() == faults_before);
  policies_.add(fields, item.tenant_id, item.id,
                {.index = bundle_.policies.size() - 1, .sound = faults_.count() == faults_before});
}

void BundleBuilder::check_plan(json::Fields& fields, const Policy& policy, bool sound) {
  IdIndex::Entry* const plan = plans_.find(policy.tenant_id, policy.plan_id);
  if (plan == nullptr) {
    fields.fault("plan_id",
                 fmt::format("plan {} does not exist in tenant {}", quoted(policy.plan_id), quoted(policy.tenant_id)));
    return;
  }
  if (!sound || !plan->sound) return;
  check_enforcement(fields, policy.enforcement, bundle_.plans[plan->index].limits, false);
  if (policy.enforcement.action == Action::delay) {
    plan->longest_delay = std::max(plan->longest_delay, policy.enforcement.max_delay);
  }
}

void BundleBuilder::read_key(json::Fields& fields) {
  ApiKey& item = bundle_.keys.emplace_back();
  if (!fields.is_object()) return;
  item.tenant_id = tenants_.read_tenant_id(fields);
  item.id = read_id(fields, "key");
  if (const auto name = fields.text("name", kMaxNameBytes)) item.name = *name;
  static constexpr std::string_view kShape =
      "sha256:<32 to 64 hex digits of salt>:<64 hex digits>, as mint-key prints it; never the key itself";
  fields.require("key_hash", kShape);
  if (const auto hash = fields.text("key_hash", kMaxHashBytes)) {
    const auto parsed = parse_key_hash(*hash);
    if (!parsed || parsed->salt_size < kMinSaltBytes)
      fields.fault("key_hash", fmt::format("key_hash must be {}", kShape));
    item.key_hash = *hash;
    std::ranges::transform(item.key_hash, item.key_hash.begin(),
                           [](char c) { return c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c; });
  }
  item.expires_at = fields.timestamp("expires_at");
  keys_.add(fields, "", item.id, {.index = bundle_.keys.size() - 1});
  fields.reject_unknown();
}

void BundleBuilder::read_override(json::Fields& fields) {
  Override& item = bundle_.overrides.emplace_back();
  if (!fields.is_object()) return;
  const std::size_t faults_before = faults_.count();
  sluice::read_override(fields, tenants_, {bundle_.plans, bundle_.policies, plans_, policies_}, item);
  if (item.tenant_id.empty()) return;
  overrides_.add(fields, item.tenant_id, item.id, {.index = bundle_.overrides.size() - 1});
  if (faults_.count() == faults_before) check_single(fields, item);
}

// Two overrides of one limit for one identity would contradict each other.
void BundleBuilder::check_single(json::Fields& fields, const Override& item) {
  const auto [other, is_new] = targets_.try_emplace(target_of(item), item.id);
  if (is_new) return;
  fields.fault("identity", fmt::format("override {} replaces numbers of the same limit for the same identity: keep one",
                                       quoted(other->second)));
}

}  // namespace sluice
