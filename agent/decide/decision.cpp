#include "agent/decide/decision.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "common/base/crypto.hpp"
#include "common/domain/credential.hpp"
#include "common/domain/quota_period.hpp"
#include "common/limiter/lease_set.hpp"
#include "common/policy/counter_key.hpp"

namespace sluice::agent::decide {
namespace {

using limiter::Outcome;
using limiter::StoreResult;
using policy::Rulebook;

// A random number in [0, 1), the same for the same request id: a retried request is sampled as it was.
double sample_point(std::string_view request_id) {
  std::uint64_t number = 0;
  if (request_id.empty()) {
    random_bytes({reinterpret_cast<std::uint8_t*>(&number), sizeof number});
  } else {
    Sha256Digest digest = sha256(request_id);
    std::memcpy(&number, digest.data(), sizeof number);
  }
  return static_cast<double>(number >> 11) * 0x1.0p-53;
}

std::int64_t window_of(const Limit& limit, std::int64_t effective_limit, std::int64_t now_us) {
  switch (limit.algorithm) {
    case Algorithm::token_bucket:
    case Algorithm::leaky_bucket:
      // The time in which a whole bucket flows: q units each w seconds is its sustained rate.
      return static_cast<std::int64_t>(
          std::ceil(static_cast<double>(effective_limit) * static_cast<double>(limit.rate.per_us) /
                    static_cast<double>(limit.rate.units)));
    case Algorithm::quota: {
      PeriodBounds period = period_at(limit.period, limit.anchor, now_us);
      return period.to_us - period.from_us;
    }
    case Algorithm::concurrency:
      return 0;
    default:
      return limit.window.count();
  }
}

// What a limit that is exceeded does to the request: the action of the policy.
void apply_action(const Enforcement& enforcement, const CheckRequest& request, Decision& decision) {
  decision.action = enforcement.action;
  decision.reason = Reason::limit_exceeded;
  switch (enforcement.action) {
    case Action::deny:
    case Action::drop:
      decision.allowed = false;
      break;
    case Action::delay:  // the wait would be above max_delay
      decision.allowed = false;
      decision.action = Action::deny;
      break;
    case Action::sample:
      decision.sample_rate = enforcement.sample_rate;
      decision.allowed = sample_point(request.request_id) < enforcement.sample_rate;
      if (decision.allowed) decision.reason = Reason::sampled;
      break;
    case Action::downgrade:
      decision.allowed = true;
      decision.downgrade_to = enforcement.downgrade_to;
      break;
    case Action::drop_low_priority: {
      const Value* priority = request.find({Dimension::priority, ""});
      decision.allowed = !priority || priority->text != "low";
      break;
    }
    case Action::shadow_only:
    case Action::allow:
      decision.allowed = true;
      break;
  }
}

// What a store that cannot answer does to the request: the failure mode of the policy.
void apply_failure(const Enforcement& enforcement, Decision& decision) {
  decision.allowed = enforcement.failure_mode == FailureMode::fail_open;
  decision.action = decision.allowed ? Action::allow : Action::deny;
  decision.reason = decision.allowed ? Reason::fail_open : Reason::fail_closed;
}

void explain_limits(const Rulebook& rulebook, const limiter::Call& call, const Outcome& outcome, Decision& decision) {
  const limiter::Program& program = *rulebook.program;
  decision.limits.resize(program.limits.size());
  for (std::size_t i = 0; i < program.limits.size(); ++i) {
    const Limit& limit = program.limits[i];
    decision.limits[program.plan_position[i]] = {limit.name, limit.algorithm, limit.unit, call.costs[i],
                                                 outcome.limits[i]};
  }
}

void report(const Rulebook& rulebook, const Outcome& outcome, Decision& decision) {
  const Limit& binding = rulebook.program->limits[outcome.binding];
  decision.now_us = outcome.now_us;
  decision.has_limit = true;
  decision.report = outcome.report;
  decision.limit_name = binding.name;
  decision.window_us = window_of(binding, outcome.report.limit, outcome.now_us);
}

ShadowResult shadow_result(const Rulebook& shadow, const Outcome& outcome) {
  ShadowResult result;
  result.allowed = outcome.allowed;
  result.reason = outcome.allowed ? Reason::within_limit : Reason::limit_exceeded;
  result.policy_id = shadow.owner_id;
  result.policy_version = shadow.version;
  result.plan_id = shadow.plan_id;
  result.limit_name = shadow.program->limits[outcome.binding].name;
  result.report = outcome.report;
  return result;
}

void name_rulebook(const Rulebook& rulebook, Decision& decision) {
  if (rulebook.is_policy) {
    decision.policy_id = rulebook.owner_id;
    decision.policy_version = rulebook.version;
  }
  decision.plan_id = rulebook.plan_id;
  if (!rulebook.metadata.empty()) decision.metadata = &rulebook.metadata;
}

}  // namespace

// ApiKey
const policy::KeyView* authenticate(const policy::Snapshot& snapshot, std::string_view presented, std::int64_t now_us) {
  auto key = split_key(presented);
  const policy::KeyView* known = key ? snapshot.find_key(key->id) : nullptr;
  bool right = verify(known ? known->hash : dummy_key_hash(), key ? key->secret : std::string_view("-"));
  return known && right && now_us < known->expires_at_us ? known : nullptr;
}

// Policy, Plan
Course choose_course(const policy::Snapshot& snapshot, const policy::TenantView& tenant, const policy::KeyView& key,
                     CheckRequest& request, std::int64_t now_us) {
  return policy::choose_course(snapshot, tenant, key.id, request, now_us);
}

// counter keys
void prepare_call(const policy::TenantView& tenant, const Rulebook& rulebook, const CheckRequest& request,
                  limiter::Call& call) {
  const limiter::Program& program = *rulebook.program;
  call.program = &program;
  call.explain = request.explain;
  policy::counter_keys(tenant.key_head, rulebook, request, call.keys);
  for (std::size_t i = 0; i < program.limits.size(); ++i) {
    call.costs[i] = static_cast<std::uint32_t>(request.cost_of(program.limits[i].unit));
  }
  if (program.leases > 0) random_bytes(call.draw);
}

void append_leases(const Rulebook& rulebook, const limiter::Call& call, const Outcome& outcome,
                   std::vector<limiter::LeaseRef>& out) {
  const limiter::Program& program = *rulebook.program;
  for (std::size_t i = 0; i < program.rules.size(); ++i) {
    if (outcome.lease_ttl_us[i] == 0) continue;
    std::string_view draw(reinterpret_cast<const char*>(call.draw.data()), call.draw.size());
    out.push_back({call.keys[program.rules[i].group], program.limits[i].name,
                   limiter::lease_member(draw, call.costs[i], static_cast<double>(outcome.lease_ttl_us[i]))});
  }
}

// Decision
Decision conclude(const Course& course, const CheckRequest& request, const limiter::Call& call,
                  const StoreResult<Outcome>& outcome, const StoreResult<Outcome>* shadow) {
  const Rulebook& rulebook = *course.deciding;
  Decision decision;
  decision.request_id = request.request_id;
  decision.shadow = course.deciding_is_shadow;
  name_rulebook(rulebook, decision);
  if (outcome) {
    report(rulebook, *outcome, decision);
    if (request.explain) explain_limits(rulebook, call, *outcome, decision);
  }
  decision.explain = request.explain;
  decision.candidates = course.candidates;
  if (course.deciding_is_shadow) {  // reported, never enforced
    decision.allowed = true;
    decision.reason = Reason::shadow;
  } else if (!outcome) {
    apply_failure(rulebook.enforcement, decision);
  } else if (!outcome->allowed) {
    apply_action(rulebook.enforcement, request, decision);
  } else {
    decision.reason = Reason::within_limit;
    bool delayed = rulebook.enforcement.action == Action::delay && outcome->report.delay_us > 0;
    decision.action = delayed ? Action::delay : Action::allow;
  }
  if (shadow && *shadow) decision.shadow_result = shadow_result(*course.shadow, **shadow);
  return decision;
}

Decision conclude_unjudged(const Course& course, const policy::TenantView& tenant, const CheckRequest& request) {
  Decision decision;
  decision.request_id = request.request_id;
  decision.explain = request.explain;
  decision.candidates = course.candidates;
  if (course.kind == Course::Kind::mode_off) {
    decision.reason = Reason::mode_off;
    name_rulebook(*course.deciding, decision);
    return decision;
  }
  decision.reason = Reason::no_policy;
  decision.allowed = !tenant.tenant.default_deny;
  decision.action = decision.allowed ? Action::allow : Action::deny;
  return decision;
}

}  // namespace sluice::agent::decide
