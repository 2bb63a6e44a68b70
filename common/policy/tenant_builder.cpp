#include "common/policy/tenant_builder.hpp"

#include <algorithm>
#include <array>
#include <unordered_set>

#include <fmt/core.h>

#include "common/policy/compile.hpp"
#include "common/policy/levels.hpp"

namespace sluice::policy {
namespace {

bool delays_alike(const Enforcement& a, const Enforcement& b) {
  if (a.action != Action::delay || b.action != Action::delay)
    return a.action != Action::delay && b.action != Action::delay;
  return a.max_delay == b.max_delay;
}

// Usually returns the plan's own program.
ProgramPool::Shared program_on(const PlanView& plan, const Enforcement& enforcement, ProgramPool& programs) {
  if (delays_alike(enforcement, plan.rulebook.enforcement)) return plan.rulebook.program;
  return programs.of(plan.limits, enforcement);
}

}  // namespace

TenantBuilder::TenantBuilder(std::string id) {
  view_.key_head = "sl:{" + id + '|';
  const std::uint64_t hash = hash_of_id(id);
  view_.name = std::make_shared<const TenantName>(std::move(id), hash);
}

bool TenantBuilder::remove_plan(const std::string& id) { return view_.plans.erase(id); }

bool TenantBuilder::remove_policy(const std::string& id) {
  SharedPolicy policy = view_.policies.get(id);
  if (!policy) return false;
  view_.policies.erase(id);
  take_out(std::move(policy));
  return true;
}

Faults TenantBuilder::put_plan(const Plan& plan, std::size_t index, ProgramPool& programs) {
  const auto former = view_.plans.get(plan.id);
  if (former && (!before_ || before_->plans.find(plan.id) != former.get())) {
    return {{"/id", fmt::format("plan {} is given twice", plan.id)}};
  }
  Faults faults = fit_faults(plan.enforcement, plan.limits);
  if (!faults.empty()) return faults;  // limits with faults cannot be compiled
  auto view = std::make_shared<PlanView>();
  view->rulebook = rulebook_of(plan, programs.of(plan.limits, plan.enforcement));
  view->limits = plan.limits;
  if (former) {
    view->policies = former->policies;
    if (former->limits != plan.limits) changed_limits_.emplace(plan.id, index);
  }
  view_.plans.put(std::move(view));
  return {};
}

Faults TenantBuilder::put_policy(const Policy& policy, std::size_t index, ProgramPool& programs, std::int64_t now_us) {
  SharedPolicy former = view_.policies.get(policy.id);
  if (former && (!before_ || before_->policies.find(policy.id) != former.get())) {
    return {{"/id", fmt::format("policy {} is given twice", policy.id)}};
  }
  const PlanView* plan = policy.plan_id.empty() ? nullptr : view_.plans.find(policy.plan_id);
  if (!plan && !policy.plan_id.empty()) {
    return {{"/plan_id", fmt::format("plan {} does not exist in tenant {}", policy.plan_id, view_.name->id)}};
  }
  const auto& limits = plan ? plan->limits : policy.limits;
  Faults faults = fit_faults(policy.enforcement, limits);
  ProgramPool::Shared program;
  if (faults.empty()) {
    program = plan ? program_on(*plan, policy.enforcement, programs) : programs.of(limits, policy.enforcement);
  }
  SharedPolicy compiled = compile_policy(policy, view_.tenant.slash(), std::move(program), now_us, faults);
  if (former) take_out(std::move(former));
  if (!is_indexable(compiled->scope) && view_.unindexed == kMaxUnindexedPolicies) over_limit_ = index;
  view_.policies.put(compiled);
  put_in(std::move(compiled));
  return faults;
}

void TenantBuilder::put_in(SharedPolicy policy) {
  count_on_plan(*policy, 1);
  view_.inputs.add(*policy);
  if (!is_indexable(policy->scope)) ++view_.unindexed;
  if (policy->expression) ++view_.expressions;
  if (!policy->dormant) view_.next_dormant_us = std::min(view_.next_dormant_us, dormant_from_us(*policy));
  added_.push_back(std::move(policy));
}

void TenantBuilder::take_out(SharedPolicy policy) {
  count_on_plan(*policy, -1);
  view_.inputs.remove(*policy);
  if (!is_indexable(policy->scope)) --view_.unindexed;
  if (policy->expression) --view_.expressions;
  removed_.push_back(std::move(policy));
}

void TenantBuilder::count_on_plan(const CompiledPolicy& policy, std::ptrdiff_t difference) {
  if (!policy.rulebook.plan_id.empty()) on_plans_[policy.rulebook.plan_id] += difference;
}

void TenantBuilder::renew_policies(ProgramPool& programs,
                                   const std::function<void(std::size_t plan, Fault fault)>& report) {
  if (changed_limits_.empty()) return;
  std::vector<SharedPolicy> stale;
  view_.policies.for_each([&](const SharedPolicy& policy) {
    const bool stays = before_->policies.find(policy->id()) == policy.get();
    if (stays && changed_limits_.contains(policy->rulebook.plan_id)) stale.push_back(policy);
  });
  std::unordered_set<std::string> reported;
  for (SharedPolicy& policy : stale) {
    const Rulebook& rulebook = policy->rulebook;
    const PlanView& plan = *view_.plans.find(rulebook.plan_id);
    if (Faults unfit = fit_faults(rulebook.enforcement, plan.limits); !unfit.empty()) {
      if (!reported.insert(rulebook.plan_id).second) continue;
      Fault& fault = unfit.front();
      fault.text = fmt::format("does not fit {} of policy {}: {}", fault.pointer.substr(1), policy->id(), fault.text);
      fault.pointer = "/limits";
      report(changed_limits_.at(rulebook.plan_id), std::move(fault));
      continue;
    }
    auto renewed = std::make_shared<CompiledPolicy>(*policy);
    renewed->rulebook.program = program_on(plan, rulebook.enforcement, programs);
    if (renewed->slashed_scope) compile_scope_again(view_.tenant.slash(), *renewed);
    view_.policies.put(renewed);
    take_out(std::move(policy));
    put_in(std::move(renewed));
  }
}

std::optional<std::string> TenantBuilder::policy_on(const std::string& plan_id) const {
  const PlanView* plan = before_ ? before_->plans.find(plan_id) : nullptr;
  const auto more = on_plans_.find(plan_id);
  const auto policies = static_cast<std::ptrdiff_t>(plan ? plan->policies : 0);
  if (policies + (more == on_plans_.end() ? 0 : more->second) == 0) return std::nullopt;
  std::optional<std::string> found;
  view_.policies.for_each([&](const SharedPolicy& policy) {
    if (policy->rulebook.plan_id == plan_id && (!found || policy->id() < *found)) found = policy->id();
  });
  return found;
}

std::optional<std::size_t> TenantBuilder::first_policy_over_limit() const {
  return view_.unindexed > kMaxUnindexedPolicies ? std::optional(over_limit_) : std::nullopt;
}

std::shared_ptr<const TenantView> TenantBuilder::settle(std::int64_t now_us) {
  settle_plans();
  renew_scopes();
  if (now_us >= view_.next_dormant_us) make_dormant(now_us);
  settle_levels();
  return std::make_shared<const TenantView>(std::move(view_));
}

void TenantBuilder::settle_plans() {
  for (const auto& [id, more] : on_plans_) {
    const PlanView* plan = more == 0 ? nullptr : view_.plans.find(id);
    if (!plan) continue;
    auto counted = std::make_shared<PlanView>(*plan);
    counted->policies += static_cast<std::size_t>(more);
    view_.plans.put(std::move(counted));
  }
}

// Compiles the scopes of unchanged policies again if the tenant's trailing_slash changed.
void TenantBuilder::renew_scopes() {
  const TrailingSlash now = view_.tenant.slash();
  if (!before_ || before_->tenant.slash() == now) return;
  std::vector<SharedPolicy> stale;
  view_.policies.for_each([&](const SharedPolicy& policy) {
    if (policy->slashed_scope && before_->policies.find(policy->id()) == policy.get()) stale.push_back(policy);
  });
  for (SharedPolicy& policy : stale) {
    auto renewed = std::make_shared<CompiledPolicy>(*policy);
    compile_scope_again(now, *renewed);
    view_.policies.put(renewed);
    take_out(std::move(policy));
    put_in(std::move(renewed));
  }
}

// Moves expired policies into the dormant indexes. Visits all policies of the tenant.
void TenantBuilder::make_dormant(std::int64_t now_us) {
  constexpr std::int64_t kHourUs = 3'600'000'000;
  std::vector<SharedPolicy> due;
  std::int64_t next_us = INT64_MAX;
  view_.policies.for_each([&](const SharedPolicy& policy) {
    if (policy->dormant) return;
    const std::int64_t at_us = dormant_from_us(*policy);
    if (at_us <= now_us) {
      due.push_back(policy);
    } else {
      next_us = std::min(next_us, at_us);
    }
  });
  for (SharedPolicy& policy : due) {
    auto renewed = std::make_shared<CompiledPolicy>(*policy);
    renewed->dormant = true;
    view_.policies.put(renewed);
    take_out(std::move(policy));
    put_in(std::move(renewed));
  }
  view_.next_dormant_us = std::max(next_us, now_us + kHourUs);
}

void TenantBuilder::settle_levels() {
  struct Changes {
    std::vector<const CompiledPolicy*> removed, added;
    void apply(PolicyIndex& index) const {
      if (!removed.empty() || !added.empty()) index.change(removed, added);
    }
  };
  std::array<std::array<Changes, 2>, kLevels> changes;
  for (const SharedPolicy& policy : removed_) changes[policy->level][policy->dormant].removed.push_back(policy.get());
  for (const SharedPolicy& policy : added_) changes[policy->level][policy->dormant].added.push_back(policy.get());
  for (std::uint8_t number = 0; number < kLevels; ++number) {
    const auto& [active, dormant] = changes[number];
    auto level = std::ranges::lower_bound(view_.levels, number, {}, &TenantView::Level::number);
    if (level == view_.levels.end() || level->number != number) {
      level = view_.levels.insert(level, {.number = number, .active = {}, .dormant = {}});
    }
    active.apply(level->active);
    dormant.apply(level->dormant);
  }
  std::erase_if(view_.levels, [](const auto& level) { return level.active.empty() && level.dormant.empty(); });
  view_.index_entries = 0;
  for (const auto& level : view_.levels) view_.index_entries += level.active.entries() + level.dormant.entries();
}

}  // namespace sluice::policy
