#include "common/objects/override_json.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "common/base/duration.hpp"
#include "common/base/text.hpp"
#include "common/base/timestamp.hpp"
#include "common/domain/algorithm.hpp"
#include "common/domain/dimension_hint.hpp"
#include "common/domain/foreign_limits.hpp"
#include "common/domain/identifiers.hpp"
#include "common/domain/limit_fields.hpp"
#include "common/domain/limit_numbers.hpp"
#include "common/domain/rate.hpp"
#include "common/domain/resource.hpp"
#include "common/objects/field_tables.hpp"
#include "common/objects/limit_json.hpp"

namespace sluice {
namespace {

// The plan or policy that an override belongs to. The pointers are nullptr if the owner or its plan is missing or has
// faults.
struct Owner {
  const std::vector<Limit>* limits = nullptr;
  const std::vector<DimensionRef>* key_by = nullptr;
  Micros longest_delay{0};  // the longest max_delay that a policy or plan uses with these limits; 0: none
};

Micros delay_of(const Enforcement& enforcement) {
  return enforcement.action == Action::delay ? enforcement.max_delay : Micros(0);
}

Owner owner_policy(json::Fields& fields, const OverrideOwners& owners, const Override& item) {
  const IdIndex::Entry* const entry = owners.policy_ids.refer(fields, "policy_id", item.tenant_id, item.policy_id);
  if (entry == nullptr || !entry->sound) return {};
  const Policy& policy = owners.policies[entry->index];
  Owner owner{&policy.limits, &policy.enforcement.key_by, delay_of(policy.enforcement)};
  if (!policy.plan_id.empty()) {
    const IdIndex::Entry* const plan = owners.plan_ids.find(policy.tenant_id, policy.plan_id);
    if (plan == nullptr || !plan->sound) return {};
    owner.limits = &owners.plans[plan->index].limits;
  }
  return owner;
}

Owner owner_plan(json::Fields& fields, const OverrideOwners& owners, const Override& item) {
  const IdIndex::Entry* const entry = owners.plan_ids.refer(fields, "plan_id", item.tenant_id, item.plan_id);
  if (entry == nullptr || !entry->sound) return {};
  const Plan& plan = owners.plans[entry->index];
  return {&plan.limits, &plan.enforcement.key_by, std::max(delay_of(plan.enforcement), entry->longest_delay)};
}

Owner read_owner(json::Fields& fields, const OverrideOwners& owners, Override& item) {
  const auto policy_id = fields.text(override_field::kPolicyId);
  const auto plan_id = fields.text(override_field::kPlanId);
  if (fields.present("policy_id") && fields.present("plan_id")) {
    fields.fault("plan_id", "policy_id and plan_id are both given: an override belongs to one of them");
    return {};
  }
  if (!fields.present("policy_id") && !fields.present("plan_id")) {
    fields.require("policy_id", "an override names its policy in policy_id, or its plan in plan_id");
  }
  if (policy_id) item.policy_id = *policy_id;
  if (plan_id) item.plan_id = *plan_id;
  if (item.tenant_id.empty()) return {};  // an invalid tenant_id is a fault already
  if (policy_id) return owner_policy(fields, owners, item);
  if (plan_id) return owner_plan(fields, owners, item);
  return {};
}

// Returns nullptr if no valid limit was found.
const Limit* read_limit_name(json::Fields& fields, const Owner& owner, Override& item) {
  fields.require("limit_name", "the name of the limit whose numbers are replaced");
  const auto name = fields.text(override_field::kLimitName);
  if (!name) return nullptr;
  item.limit_name = *name;
  if (owner.limits == nullptr) return nullptr;
  const auto found = std::ranges::find(*owner.limits, *name, &Limit::name);
  if (found != owner.limits->end()) {
    item.algorithm = found->algorithm;
    return &*found;
  }
  std::string names;
  for (const Limit& limit : *owner.limits) names.append(names.empty() ? "" : ", ").append(limit.name);
  fields.fault("limit_name", fmt::format("{} has no limit {}: its limits are {}",
                                         item.policy_id.empty() ? "the plan" : "the policy", quoted(*name), names));
  return nullptr;
}

std::string list_of(const std::vector<DimensionRef>& dimensions) {
  std::string text;
  for (const DimensionRef& dimension : dimensions) text.append(text.empty() ? "" : ", ").append(to_string(dimension));
  return text.empty() ? "none" : text;
}

void read_identity_members(json::Fields& identity, Override& item) {
  for (json::Member& member : identity.members()) {
    if (member.taken) continue;  // a duplicate name, which is a fault already
    auto dimension = parse_dimension(member.name);
    if (!dimension) {
      member.taken = true;
      identity.fault(member.name,
                     not_a_dimension(member.name, "identity has the dimensions of the counter key, such as subject"));
    } else if (const auto value = identity.text(member.name, kMaxValueBytes)) {
      item.identity.emplace_back(std::move(*dimension), *value);
    } else if (member.value.type() == json::Type::null) {
      identity.fault(member.name, fmt::format("{} must be a string, not null", member.name));
    }
  }
  std::ranges::sort(item.identity);
}

void spell_canonically(std::vector<std::pair<DimensionRef, std::string>>& identity) {
  for (auto& [dimension, text] : identity) {
    if (dimension.dimension == Dimension::resource) text.resize(canonical_resource(text).size());
  }
}

void read_identity(json::Fields& fields, const Owner& owner, const Limit* limit, Override& item) {
  fields.require("identity", "the value of each dimension of the counter key, such as {\"subject\":\"user:42\"}");
  const json::Value* const value = fields.take("identity");
  if (value == nullptr) return;
  const json::Place at = fields.at().member("identity");
  const std::size_t faults_before = fields.faults().count();
  json::Fields identity(*value, at, fields.faults());
  read_identity_members(identity, item);
  if (limit == nullptr || owner.key_by == nullptr || fields.faults().count() != faults_before) return;

  std::vector<DimensionRef> wanted;
  std::ranges::set_union(*owner.key_by, limit->key_by, std::back_inserter(wanted));
  std::vector<DimensionRef> given;
  for (const auto& [dimension, text] : item.identity) given.push_back(dimension);
  if (given == wanted) return;
  fields.fault("identity", fmt::format("identity must have exactly the dimensions of the counter key: {}; got {}",
                                       list_of(wanted), list_of(given)));
}

// Without the limit, only what each number has to be by itself can be checked.
void read_unowned_set(json::Fields& set) {
  accept_limit_aliases(set);
  refuse_foreign_limits(set);
  read_limit_values(set);
  set.reject_unknown();
}

void read_set(json::Fields& fields, const Owner& owner, const Limit* limit, Override& item) {
  fields.require("set", "the numbers that replace the limit's, such as {\"limit\":500}");
  const json::Value* const value = fields.take("set");
  if (value == nullptr) return;
  const json::Place at = fields.at().member("set");
  const std::size_t faults_before = fields.faults().count();
  json::Fields set(*value, at, fields.faults());
  if (!set.is_object()) return;
  if (limit == nullptr) return read_unowned_set(set);
  Limit changed = *limit;
  const LimitChange change = read_limit_change(set, changed);
  if (change.limit) item.limit = changed.limit;
  if (change.rate) item.rate = changed.rate;
  if (change.window) item.window = changed.window;
  if (change.lease_ttl) item.lease_ttl = changed.lease_ttl;
  if (fields.faults().count() != faults_before || owner.longest_delay == Micros(0)) return;
  if (auto fault = debt_fault(changed, owner.longest_delay)) fields.fault("set", std::move(*fault));
}

// People write the numbers beside `set`, as a plan has them.
void refuse_numbers_beside_set(json::Fields& fields) {
  static constexpr auto kNumbers =
      std::to_array<std::string_view>({"limit", "window", "capacity", "bucket_capacity", "refill", "refill_rate",
                                       "refill_per_sec", "refill_rate_per_sec", "leak", "leak_per_sec", "leak_rate",
                                       "leak_rate_per_sec", "lease_ttl", "rate", "max_requests", "expiry", "interval"});
  for (json::Member& member : fields.members()) {
    if (member.taken || std::ranges::find(kNumbers, member.name) == kNumbers.end()) continue;
    member.taken = true;
    fields.fault(member.name,
                 fmt::format("an override has its numbers in set: write \"set\":{{{}:…}}", quoted(member.name)));
  }
}

}  // namespace

void read_override(json::Fields& fields, const TenantIndex& tenants, Author author, const OverrideOwners& owners,
                   Override& out) {
  out.tenant_id = tenants.read_tenant_id(fields);
  out.id = read_id(fields, "override");
  const Owner owner = read_owner(fields, owners, out);
  const Limit* const limit = read_limit_name(fields, owner, out);
  read_identity(fields, owner, limit, out);
  if (author == Author::person) spell_canonically(out.identity);
  read_set(fields, owner, limit, out);
  out.expires_at = fields.timestamp(object_field::kExpiresAt);
  refuse_numbers_beside_set(fields);
  fields.reject_unknown();
}

std::string target_of(const Override& item) {
  std::string target;
  const auto part = [&target](std::string_view text) {
    target.append(std::to_string(text.size())).append(":").append(text);  // the lengths keep the parts apart
  };
  part(item.tenant_id);
  part(item.policy_id);
  part(item.plan_id);
  part(item.limit_name);
  for (const auto& [dimension, value] : item.identity) part(value);
  return target;
}

void write_identity(json::Writer& out, const Override& item) {
  out.begin_object();
  for (const auto& [dimension, value] : item.identity) out.field(to_string(dimension), value);
  out.end_object();
}

void write_override(json::Writer& out, const Override& item) {
  out.begin_object();
  out.field("tenant_id", item.tenant_id);
  out.field("id", item.id);
  out.optional_field("policy_id", item.policy_id);
  out.optional_field("plan_id", item.plan_id);
  out.field("limit_name", item.limit_name);
  out.key("identity");
  write_identity(out, item);
  out.key("set");
  out.begin_object();
  if (item.limit) out.field(traits_of(item.algorithm).capacity, *item.limit);
  if (item.rate) out.field(traits_of(item.algorithm).rate, to_string(*item.rate));
  if (item.window) out.field("window", format_duration(*item.window));
  if (item.lease_ttl) out.field("lease_ttl", format_duration(*item.lease_ttl));
  out.end_object();
  if (item.expires_at) out.field("expires_at", format_timestamp(*item.expires_at));
  out.end_object();
}

}  // namespace sluice
