#include "common/domain/bundle_reader.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "common/base/text.hpp"
#include "common/domain/credential.hpp"
#include "common/domain/enforcement_json.hpp"
#include "common/domain/enum_text.hpp"
#include "common/domain/identifiers.hpp"
#include "common/domain/override_json.hpp"
#include "common/domain/policy_json.hpp"

namespace sluice {
namespace {

constexpr std::size_t kMaxHashBytes = 256;
constexpr std::size_t kMinSaltBytes = 16;

}  // namespace

void BundleReader::expect_tenants(std::size_t count) {
  bundle_.tenants.reserve(count);
  tenants_.set_count(count);
}

void BundleReader::expect_policies(std::size_t count) {
  bundle_.policies.reserve(count);
  policies_.reserve(count);
}

void BundleReader::expect_keys(std::size_t count) {
  bundle_.keys.reserve(count);
  keys_.reserve(count);
}

void BundleReader::read_organization(const json::Value& value, const json::Place& at) {
  Organization& item = bundle_.organizations.emplace_back();
  json::Fields fields(value, at, faults_);
  if (!fields.is_object()) return;
  item.id = read_id(fields, "organization");
  if (const auto name = fields.text("name", kMaxNameBytes)) item.name = *name;
  organizations_.add(fields, "", item.id, {.index = bundle_.organizations.size() - 1});
  fields.reject_unknown();
}

void BundleReader::read_tenant(const json::Value& value, const json::Place& at) {
  Tenant& item = bundle_.tenants.emplace_back();
  json::Fields fields(value, at, faults_);
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

void BundleReader::read_plan(const json::Value& value, const json::Place& at) {
  Plan& item = bundle_.plans.emplace_back();
  json::Fields fields(value, at, faults_);
  if (!fields.is_object()) return;
  const std::size_t faults_before = faults_.count();
  sluice::read_plan(fields, tenants_, item);
  if (item.tenant_id.empty()) return;
  plans_.add(fields, item.tenant_id, item.id,
             {.index = bundle_.plans.size() - 1, .sound = faults_.count() == faults_before});
}

void BundleReader::read_policy(const json::Value& value, const json::Place& at) {
  Policy& item = bundle_.policies.emplace_back();
  json::Fields fields(value, at, faults_);
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

void BundleReader::check_plan(json::Fields& fields, const Policy& policy, bool sound) {
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

void BundleReader::read_key(const json::Value& value, const json::Place& at) {
  ApiKey& item = bundle_.keys.emplace_back();
  json::Fields fields(value, at, faults_);
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

void BundleReader::read_override(const json::Value& value, const json::Place& at) {
  Override& item = bundle_.overrides.emplace_back();
  json::Fields fields(value, at, faults_);
  if (!fields.is_object()) return;
  const std::size_t faults_before = faults_.count();
  sluice::read_override(fields, tenants_, {bundle_.plans, bundle_.policies, plans_, policies_}, item);
  if (item.tenant_id.empty()) return;
  overrides_.add(fields, item.tenant_id, item.id, {.index = bundle_.overrides.size() - 1});
  if (faults_.count() == faults_before) check_single(fields, item);
}

// Two overrides of one limit for one identity would contradict each other.
void BundleReader::check_single(json::Fields& fields, const Override& item) {
  const auto [other, is_new] = targets_.try_emplace(target_of(item), item.id);
  if (is_new) return;
  fields.fault("identity", fmt::format("override {} replaces numbers of the same limit for the same identity: keep one",
                                       quoted(other->second)));
}

}  // namespace sluice
