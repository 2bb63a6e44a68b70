#include "common/policy/snapshot.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "common/domain/limit_json.hpp"
#include "common/policy/counter_key.hpp"
#include "common/policy/levels.hpp"
#include "common/policy/precedence.hpp"

namespace sluice::policy {
namespace {

// Equal limits are compiled once, whichever policies have them: thousands of policies share a few plans.
class ProgramPool {
 public:
  using Shared = std::shared_ptr<const limiter::Program>;

  Shared of(const std::vector<Limit>& limits, const Enforcement& enforcement) {
    std::optional<Micros> debt;
    if (enforcement.action == Action::delay) debt = enforcement.max_delay;
    JsonWriter text;
    text.begin_list();
    for (const Limit& limit : limits) write_limit(text, limit);
    text.end_list();
    auto [at, added] = programs_.try_emplace(fmt::format("{}{}", text.take(), debt ? debt->count() : -1));
    if (added) at->second = std::make_shared<const limiter::Program>(limiter::compile(limits, debt));
    return at->second;
  }

 private:
  std::unordered_map<std::string, Shared> programs_;
};

// Builds one snapshot; collects faults with the pointers of the bundle.
class Builder {
 public:
  Builder(const Bundle& bundle, Snapshot& out) : bundle_(bundle), out_(out) {}

  Faults build() {
    for (const Tenant& tenant : bundle_.tenants) add_tenant(tenant);
    for (std::size_t i = 0; i < bundle_.plans.size(); ++i) add_plan(bundle_.plans[i], i);
    for (std::size_t i = 0; i < bundle_.policies.size(); ++i) add_policy(bundle_.policies[i], i);
    for (auto& [id, making] : tenants_) {
      settle(making);
      out_.tenants.emplace(id, making.view);
    }
    for (std::size_t i = 0; i < bundle_.keys.size(); ++i) add_key(bundle_.keys[i], i);
    for (std::size_t i = 0; i < bundle_.overrides.size(); ++i) add_override(bundle_.overrides[i], i);
    return std::move(faults_);
  }

 private:
  struct TenantInMaking {
    std::shared_ptr<TenantView> view;
    std::vector<std::shared_ptr<CompiledPolicy>> policies;
    std::size_t unindexed = 0;
  };

  void add_tenant(const Tenant& tenant);
  void add_plan(const Plan& plan, std::size_t index);
  void add_policy(const Policy& policy, std::size_t index);
  void settle(TenantInMaking& tenant);
  void add_key(const ApiKey& key, std::size_t index);
  void add_override(const Override& entry, std::size_t index);
  void publish(const TenantView& tenant, const Rulebook& rulebook, std::size_t index);
  void check_enforceable(const Enforcement& enforcement, const std::string& pointer);
  void check_groups(const Policy& policy, const std::vector<Limit>& limits, std::size_t index);
  void check_indexable(TenantInMaking& tenant, const CompiledPolicy& policy, std::size_t index);
  void fault(std::string pointer, std::string text) { faults_.push_back({std::move(pointer), std::move(text)}); }

  const Bundle& bundle_;
  Snapshot& out_;
  Faults faults_;
  ById<TenantInMaking> tenants_;
  ById<const Plan*> plans_;                         // "<tenant>/<plan>"
  ById<const Rulebook*> policies_;                  // "<tenant>/<policy>"
  ById<std::vector<const Rulebook*>> policies_on_;  // "<tenant>/<plan>"
  ProgramPool programs_;
  std::unordered_map<std::string, std::size_t> override_index_;  // state key → index in out_.overrides
};

std::string scoped(const std::string& tenant, const std::string& id) { return tenant + '/' + id; }

void Builder::add_tenant(const Tenant& tenant) {
  auto view = std::make_shared<TenantView>();
  view->tenant = tenant;
  view->key_head = "sl:{" + tenant.id + '|';
  tenants_.emplace(tenant.id, TenantInMaking{std::move(view), {}, 0});
}

// Refused rather than ignored: a policy must not be silently weaker than it reads.
void Builder::check_enforceable(const Enforcement& enforcement, const std::string& pointer) {
  auto refuse = [&](std::optional<FailureMode> mode, std::string_view field) {
    if (mode != FailureMode::fail_degrade) return;
    fault(fmt::format("{}/{}", pointer, field),
          "fail_degrade is not available in this version; use fail_closed or fail_open");
  };
  refuse(enforcement.failure_mode, "failure_mode");
  refuse(enforcement.failure_mode_when_open, "failure_mode_when_open");
}

void Builder::add_plan(const Plan& plan, std::size_t index) {
  check_enforceable(plan.enforcement, fmt::format("/plans/{}", index));
  plans_.emplace(scoped(plan.tenant_id, plan.id), &plan);
  auto rulebook = std::make_shared<Rulebook>();
  rulebook->owner_id = rulebook->plan_id = plan.id;
  rulebook->enforcement = plan.enforcement;
  rulebook->program = programs_.of(plan.limits, plan.enforcement);
  tenants_.find(plan.tenant_id)->second.view->plans.emplace(plan.id, std::move(rulebook));
  out_.plan_count++;
}

void Builder::check_groups(const Policy& policy, const std::vector<Limit>& limits, std::size_t index) {
  for (const Limit& limit : limits) {
    for (const DimensionRef& added : limit.key_by) {
      if (std::ranges::find(policy.enforcement.key_by, added) == policy.enforcement.key_by.end()) continue;
      fault(fmt::format("/policies/{}/key_by", index),
            fmt::format("limit {} already adds {}; a limit's key_by can only add to the policy's", limit.name,
                        to_string(added)));
    }
  }
}

void Builder::check_indexable(TenantInMaking& tenant, const CompiledPolicy& policy, std::size_t index) {
  if (is_indexable(policy.scope) || ++tenant.unindexed != kMaxUnindexedPolicies + 1) return;
  fault(fmt::format("/policies/{}/scope", index),
        fmt::format("tenant {} has more than {} policies whose scope names no dimension to find them by (org, tenant "
                    "and a lone * are none): name one, such as resource, service or tag.NAME",
                    tenant.view->tenant.id, kMaxUnindexedPolicies));
}

std::int64_t micros(WallTime time) { return time.time_since_epoch().count(); }

void compile_rules(const Policy& policy, CompiledPolicy& out) {
  out.scope = compile_scope(policy.scope);
  out.enabled = policy.enabled;
  out.mode = policy.enforcement.mode;
  if (policy.valid_from) out.valid_from_us = micros(*policy.valid_from);
  if (policy.valid_to) out.valid_to_us = micros(*policy.valid_to);
  out.rollout = static_cast<std::uint32_t>(std::llround(policy.rollout_percent * (kWholeRollout / 100)));
  int level = kGlobalLevel;
  for (const Term& term : out.scope) {
    level = std::min(level, level_of(term.dimension.dimension));
    if (term.dimension.dimension == Dimension::method) out.names_method = true;
  }
  out.level = static_cast<std::uint8_t>(level);
  out.priority = policy.priority;
}

void Builder::add_policy(const Policy& policy, std::size_t index) {
  check_enforceable(policy.enforcement, fmt::format("/policies/{}", index));
  const auto& limits =
      policy.plan_id.empty() ? policy.limits : plans_.find(scoped(policy.tenant_id, policy.plan_id))->second->limits;
  check_groups(policy, limits, index);
  auto compiled = std::make_shared<CompiledPolicy>();
  compiled->rulebook = {.owner_id = policy.id,
                        .is_policy = true,
                        .plan_id = policy.plan_id,
                        .version = policy.version,
                        .enforcement = policy.enforcement,
                        .metadata = policy.metadata,
                        .program = programs_.of(limits, policy.enforcement)};
  compile_rules(policy, *compiled);
  if (!policy.match_expr.empty()) {
    auto expression = MatchExpr::parse(policy.match_expr);
    if (expression) {
      compiled->expression = std::make_shared<const MatchExpr>(std::move(*expression));
    } else {
      fault(fmt::format("/policies/{}/match_expr", index),
            fmt::format("column {}: {}", expression.error().column, expression.error().text));
    }
  }
  TenantInMaking& tenant = tenants_.find(policy.tenant_id)->second;
  check_indexable(tenant, *compiled, index);
  policies_.emplace(scoped(policy.tenant_id, policy.id), &compiled->rulebook);
  if (!policy.plan_id.empty()) policies_on_[scoped(policy.tenant_id, policy.plan_id)].push_back(&compiled->rulebook);
  tenant.policies.push_back(std::move(compiled));
  out_.policy_count++;
}

// Puts the tenant's policies into their order and indexes them, level by level.
void Builder::settle(TenantInMaking& tenant) {
  constexpr std::int64_t kLongAgoUs = 86'400'000'000;  // more than clocks are set back
  TenantView& view = *tenant.view;
  std::ranges::sort(tenant.policies, [](const auto& a, const auto& b) { return compare(*a, *b).first; });
  std::vector<const CompiledPolicy*> active, dormant;
  for (std::size_t i = 0; i < tenant.policies.size(); ++i) {
    CompiledPolicy& policy = *tenant.policies[i];
    policy.rank = static_cast<std::uint32_t>(i);
    const bool asleep = !policy.enabled || policy.valid_to_us <= out_.made_at_us - kLongAgoUs;
    (asleep ? dormant : active).push_back(&policy);
    view.policies.push_back(tenant.policies[i]);
    if (i + 1 < tenant.policies.size() && tenant.policies[i + 1]->level == policy.level) continue;
    view.levels.emplace_back();
    view.levels.back().active.build(active);
    view.levels.back().dormant.build(dormant);
    active.clear();
    dormant.clear();
  }
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
void Builder::publish(const TenantView& tenant, const Rulebook& rulebook, std::size_t index) {
  const Override& entry = bundle_.overrides[index];
  const limiter::Program& program = *rulebook.program;
  for (std::size_t i = 0; i < program.limits.size(); ++i) {
    if (program.limits[i].name != entry.limit_name) continue;
    std::string key = counter_key(tenant.key_head, rulebook, program.rules[i].group, entry.identity);
    auto [at, added] = override_index_.try_emplace(key, out_.overrides.size());
    if (added) out_.overrides.push_back({key, {}, index});
    out_.overrides[at->second].entries.push_back(entry_of(entry, program.limits[i]));
  }
}

void Builder::add_override(const Override& entry, std::size_t index) {
  if (entry.expires_at && entry.expires_at->time_since_epoch().count() <= out_.made_at_us) return;
  const TenantView& tenant = *tenants_.find(entry.tenant_id)->second.view;
  if (!entry.policy_id.empty()) {
    const Rulebook* rulebook = policies_.find(scoped(entry.tenant_id, entry.policy_id))->second;
    return publish(tenant, *rulebook, index);
  }
  // A plan's: for calls that name it, and for every policy on it that counts by the same dimensions.
  const Rulebook& plan = *tenant.plans.find(entry.plan_id)->second;
  publish(tenant, plan, index);
  auto on_it = policies_on_.find(scoped(entry.tenant_id, entry.plan_id));
  if (on_it == policies_on_.end()) return;
  for (const Rulebook* policy : on_it->second) {
    if (policy->enforcement.key_by == plan.enforcement.key_by) publish(tenant, *policy, index);
  }
}

}  // namespace

std::expected<std::shared_ptr<const Snapshot>, Faults> build_snapshot(const Bundle& bundle, std::uint64_t revision,
                                                                      std::int64_t now_us, std::string chain) {
  auto snapshot = std::make_shared<Snapshot>();
  snapshot->revision = revision;
  snapshot->chain = std::move(chain);
  snapshot->made_at_us = now_us;
  snapshot->mode = bundle.mode;
  Faults faults = Builder(bundle, *snapshot).build();
  if (!faults.empty()) return std::unexpected(std::move(faults));
  return snapshot;
}

}  // namespace sluice::policy
