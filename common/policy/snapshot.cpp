#include "common/policy/snapshot.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "common/policy/counter_key.hpp"
#include "common/policy/precedence.hpp"

namespace sluice::policy {
namespace {

// Builds one snapshot; collects faults with the pointers of the bundle.
class Builder {
 public:
  Builder(const Bundle& bundle, Snapshot& out) : bundle_(bundle), out_(out) {}

  Faults build() {
    for (const Tenant& tenant : bundle_.tenants) add_tenant(tenant);
    for (std::size_t i = 0; i < bundle_.plans.size(); ++i) add_plan(bundle_.plans[i], i);
    for (std::size_t i = 0; i < bundle_.policies.size(); ++i) add_policy(bundle_.policies[i], i);
    for (auto& [id, tenant] : tenants_) {
      std::ranges::sort(tenant->policies, [](const auto& a, const auto& b) { return outranks(a->policy, b->policy); });
      out_.tenants.emplace(id, tenant);
    }
    for (std::size_t i = 0; i < bundle_.keys.size(); ++i) add_key(bundle_.keys[i], i);
    for (const Override& entry : bundle_.overrides) add_override(entry);
    return std::move(faults_);
  }

 private:
  void add_tenant(const Tenant& tenant);
  void add_plan(const Plan& plan, std::size_t index);
  void add_policy(const Policy& policy, std::size_t index);
  void add_key(const ApiKey& key, std::size_t index);
  void add_override(const Override& entry);
  void publish(const TenantView& tenant, const Rulebook& rulebook, const Override& entry);
  void check_enforceable(const Enforcement& enforcement, const std::string& pointer);
  void check_enforceable(const Policy& policy, const std::string& pointer);
  void fault(std::string pointer, std::string text) { faults_.push_back({std::move(pointer), std::move(text)}); }

  const Bundle& bundle_;
  Snapshot& out_;
  Faults faults_;
  ById<std::shared_ptr<TenantView>> tenants_;
  ById<const Plan*> plans_;                                      // "<tenant>/<plan>"
  std::unordered_map<std::string, std::size_t> override_index_;  // state key → index in out_.overrides
};

std::string scoped(const std::string& tenant, const std::string& id) { return tenant + '/' + id; }

std::optional<Micros> debt_of(const Enforcement& enforcement) {
  if (enforcement.action != Action::delay) return std::nullopt;
  return enforcement.max_delay;
}

void Builder::add_tenant(const Tenant& tenant) {
  auto view = std::make_shared<TenantView>();
  view->tenant = tenant;
  view->key_head = "sl:{" + tenant.id + '|';
  tenants_.emplace(tenant.id, std::move(view));
}

// Refused rather than ignored: a policy must not be silently weaker than it reads.
void Builder::check_enforceable(const Enforcement& enforcement, const std::string& pointer) {
  bool degrades = enforcement.failure_mode == FailureMode::fail_degrade ||
                  enforcement.failure_mode_when_open == FailureMode::fail_degrade;
  if (degrades) {
    fault(pointer + "/failure_mode", "fail_degrade is not available in this version; use fail_closed or fail_open");
  }
}

void Builder::check_enforceable(const Policy& policy, const std::string& pointer) {
  check_enforceable(policy.enforcement, pointer);
  if (!policy.match_expr.empty()) {
    fault(pointer + "/match_expr", "match_expr is not available in this version; use scope");
  }
  if (policy.rollout_percent < 100) {
    fault(pointer + "/rollout_percent", "rollout_percent below 100 is not available in this version");
  }
  for (const ScopeTerm& term : policy.scope) {
    for (const std::string& value : term.values) {
      bool pattern = value.ends_with('*') ||
                     (term.dimension.dimension == Dimension::source_ip && value.find('/') != std::string::npos);
      if (pattern) {
        fault(fmt::format("{}/scope/{}", pointer, to_string(term.dimension)),
              fmt::format("prefixes and CIDR blocks are not available in this version: name exact values, not {}",
                          value));
      }
    }
  }
}

void Builder::add_plan(const Plan& plan, std::size_t index) {
  check_enforceable(plan.enforcement, fmt::format("/plans/{}", index));
  plans_.emplace(scoped(plan.tenant_id, plan.id), &plan);
  auto rulebook = std::make_shared<Rulebook>();
  rulebook->owner_id = rulebook->plan_id = plan.id;
  rulebook->enforcement = plan.enforcement;
  rulebook->program = limiter::compile(plan.limits, debt_of(plan.enforcement));
  rulebook->key_suffix = ":l=" + plan.id;
  tenants_.find(plan.tenant_id)->second->plans.emplace(plan.id, std::move(rulebook));
  out_.plan_count++;
}

void Builder::add_policy(const Policy& policy, std::size_t index) {
  check_enforceable(policy, fmt::format("/policies/{}", index));
  auto rulebook = std::make_shared<Rulebook>();
  rulebook->owner_id = policy.id;
  rulebook->is_policy = true;
  rulebook->plan_id = policy.plan_id;
  rulebook->version = policy.version;
  rulebook->enforcement = policy.enforcement;
  rulebook->metadata = policy.metadata;
  const auto& limits =
      policy.plan_id.empty() ? policy.limits : plans_.find(scoped(policy.tenant_id, policy.plan_id))->second->limits;
  for (const Limit& limit : limits) {
    for (const DimensionRef& added : limit.key_by) {
      if (std::ranges::find(policy.enforcement.key_by, added) == policy.enforcement.key_by.end()) continue;
      fault(fmt::format("/policies/{}/key_by", index),
            fmt::format("limit {} already adds {}; a limit's key_by can only add to the policy's", limit.name,
                        to_string(added)));
    }
  }
  rulebook->program = limiter::compile(limits, debt_of(policy.enforcement));
  rulebook->key_suffix = ":p=" + policy.id;
  auto compiled = std::make_shared<CompiledPolicy>(CompiledPolicy{policy, std::move(rulebook)});
  tenants_.find(policy.tenant_id)->second->policies.push_back(std::move(compiled));
  out_.policy_count++;
}

void Builder::add_key(const ApiKey& key, std::size_t index) {
  auto hash = parse_key_hash(key.key_hash);
  if (!hash) {
    fault(fmt::format("/keys/{}/key_hash", index),
          "must be sha256:<salt hex>:<hex>, as `sluice-agent mint-key` prints it");
    return;
  }
  auto view = std::make_shared<KeyView>();
  view->id = key.id;
  view->tenant = out_.tenants.find(key.tenant_id)->second;
  view->hash = *hash;
  if (key.expires_at) view->expires_at_us = key.expires_at->time_since_epoch().count();
  out_.keys.emplace(key.id, std::move(view));
}

limiter::OverrideEntry entry_of(const Override& entry, Limit limit) {
  limiter::OverrideEntry out;
  out.name_id = limiter::name_id(limit);
  out.expires_us = entry.expires_at ? static_cast<double>(entry.expires_at->time_since_epoch().count())
                                    : std::numeric_limits<double>::infinity();
  if (entry.limit) out.limit = static_cast<double>(*entry.limit);
  if (entry.rate) {
    out.p = static_cast<double>(entry.rate->units);
    out.q = static_cast<double>(entry.rate->per_us);
  }
  if (entry.lease_ttl) out.p = static_cast<double>(entry.lease_ttl->count());
  if (entry.window) {
    out.p = static_cast<double>(entry.window->count());
    limit.window = *entry.window;
    out.counter_id = limiter::counter_id(limit);
  }
  return out;
}

// Writes the override into the key of the group its limit belongs to.
void Builder::publish(const TenantView& tenant, const Rulebook& rulebook, const Override& entry) {
  const limiter::Program& program = rulebook.program;
  for (std::size_t i = 0; i < program.limits.size(); ++i) {
    if (program.limits[i].name != entry.limit_name) continue;
    std::string key = counter_key(tenant, rulebook, program.rules[i].group, entry.identity);
    auto [at, added] = override_index_.try_emplace(key, out_.overrides.size());
    if (added) out_.overrides.push_back({key, {}});
    out_.overrides[at->second].entries.push_back(entry_of(entry, program.limits[i]));
  }
}

void Builder::add_override(const Override& entry) {
  if (entry.expires_at && entry.expires_at->time_since_epoch().count() <= out_.made_at_us) return;
  const TenantView& tenant = *tenants_.find(entry.tenant_id)->second;
  if (!entry.policy_id.empty()) {
    for (const auto& policy : tenant.policies) {
      if (policy->policy.id == entry.policy_id) publish(tenant, *policy->rulebook, entry);
    }
    return;
  }
  // A plan's: for calls that name it, and for every policy on it that counts by the same dimensions.
  const Rulebook& plan = *tenant.plans.find(entry.plan_id)->second;
  publish(tenant, plan, entry);
  for (const auto& policy : tenant.policies) {
    bool same = policy->policy.plan_id == entry.plan_id && policy->policy.enforcement.key_by == plan.enforcement.key_by;
    if (same) publish(tenant, *policy->rulebook, entry);
  }
}

}  // namespace

std::expected<std::shared_ptr<const Snapshot>, Faults> build_snapshot(const Bundle& bundle, std::uint64_t revision,
                                                                      std::int64_t now_us) {
  auto snapshot = std::make_shared<Snapshot>();
  snapshot->revision = revision;
  snapshot->made_at_us = now_us;
  snapshot->mode = bundle.mode;
  Faults faults = Builder(bundle, *snapshot).build();
  if (!faults.empty()) return std::unexpected(std::move(faults));
  return snapshot;
}

}  // namespace sluice::policy
