#include "engine/decide/decision.hpp"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "common/base/crypto.hpp"
#include "common/domain/algorithm.hpp"
#include "common/domain/credential.hpp"
#include "common/limiter/algorithms/lease_set.hpp"
#include "common/limiter/lease_id.hpp"
#include "common/policy/counter_key.hpp"

namespace sluice::decide {
namespace {

using limiter::Outcome;
using policy::Role;
using policy::Rulebook;
using policy::Selection;

constexpr std::chrono::milliseconds kLeaseTry{250};  // how often a held check asks for a lease

// Returns a number in [0, 1). A request id always gets the same number, so that a retry is sampled alike.
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

// REQUIRES: the request is over a limit.
void apply_action(const Enforcement& enforcement, const CheckRequest& request, Decision& decision) {
  decision.action = enforcement.action;
  decision.reason = Reason::limit_exceeded;
  switch (enforcement.action) {
    case Action::deny:
    case Action::drop:
      decision.allowed = false;
      break;
    case Action::delay:  // the wait would be longer than max_delay
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

// A tenant that asks for more than its share of the calls to Redis is always denied. Otherwise a flood of calls would
// get past the tenant's limits.
FailureMode failure_mode_for(const Enforcement& enforcement, const limiter::StoreError& error) {
  if (error.fault == limiter::StoreFault::overload) return FailureMode::fail_closed;
  if (error.fault != limiter::StoreFault::breaker_open) return enforcement.failure_mode;
  return enforcement.failure_mode_when_open.value_or(enforcement.failure_mode);
}

bool is_downgraded(const Enforcement& enforcement, const limiter::StoreError& error) {
  return failure_mode_for(enforcement, error) == FailureMode::fail_degrade &&
         enforcement.degrade_action == DegradeAction::downgrade;
}

void apply_failure(const Enforcement& enforcement, const limiter::StoreError& error, Decision& decision) {
  if (is_downgraded(enforcement, error)) {
    decision.allowed = true;
    decision.action = Action::downgrade;
    decision.downgrade_to = enforcement.downgrade_to;
    decision.reason = Reason::degraded;
    return;
  }
  decision.allowed = failure_mode_for(enforcement, error) == FailureMode::fail_open;
  decision.action = decision.allowed ? Action::allow : Action::deny;
  if (error.fault == limiter::StoreFault::overload) {
    decision.reason = Reason::overload;
  } else {
    decision.reason = decision.allowed ? Reason::fail_open : Reason::fail_closed;
  }
}

// What the rulebook of a shadow would have decided.
bool would_allow(const Judgement& shadow, const CheckRequest& request) {
  const Enforcement& enforcement = shadow.rulebook->enforcement;
  Decision tried;
  if (!shadow.outcome) {
    apply_failure(enforcement, shadow.outcome.error(), tried);
  } else if (!shadow.outcome->allowed) {
    apply_action(enforcement, request, tried);
  }
  return tried.allowed;
}

void explain_limits(const Judgement& judgement, const CheckRequest& request, Decision& decision) {
  decision.costs = &request.costs;
  const limiter::Program& program = *judgement.rulebook->program;
  decision.limits.resize(program.limits.size());
  for (std::size_t i = 0; i < program.limits.size(); ++i) {
    const Limit& limit = program.limits[i];
    decision.limits[program.plan_position[i]] = {limit.name,
                                                 limit.algorithm,
                                                 limit.unit,
                                                 judgement.call.costs[i],
                                                 judgement.outcome->limits[i],
                                                 judgement.call.program->rules[i].brought};
  }
}

void add_limit_numbers(const Judgement& judgement, Decision& decision) {
  const Rulebook& rulebook = *judgement.rulebook;
  const Outcome& outcome = *judgement.outcome;
  const Limit& binding = rulebook.program->limits[outcome.binding];
  decision.spent = outcome.allowed ? judgement.call.costs[outcome.binding] : 0;
  decision.key_by = rulebook.enforcement.key_by;
  decision.limit_key_by = binding.key_by;
  decision.now_us = outcome.now_us;
  decision.has_limit = true;
  decision.report = outcome.report;
  decision.limit_name = binding.name;
  decision.window_us = window_us(binding, outcome.report.limit, outcome.now_us);
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
  decision.expose = rulebook.enforcement.expose;
  if (!rulebook.metadata.empty()) decision.metadata = &rulebook.metadata;
}

// Returns 0 if the request is within the limits, 1 if it is over a limit but passes, 2 if the store failed but the
// request passes, 3 if it is over a limit and the action denies only some such requests, 4 if it is denied.
int strictness(const Judgement& judgement) {
  const Enforcement& enforcement = judgement.rulebook->enforcement;
  if (!judgement.outcome) {
    const limiter::StoreError& error = judgement.outcome.error();
    return failure_mode_for(enforcement, error) == FailureMode::fail_open || is_downgraded(enforcement, error) ? 2 : 4;
  }
  if (judgement.outcome->allowed) return 0;
  switch (enforcement.action) {
    case Action::downgrade:
    case Action::shadow_only:
    case Action::allow:
      return 1;
    case Action::sample:
    case Action::drop_low_priority:
      return 3;
    case Action::deny:
    case Action::drop:
    case Action::delay:
      break;
  }
  return 4;
}

// Whether put_binding_first() prefers `a`.
bool binds_more(const Judgement& a, const Judgement& b) {
  const int by_strictness = strictness(a) - strictness(b);
  if (by_strictness != 0) return by_strictness > 0;
  if (!a.outcome || !b.outcome) return !a.outcome && b.outcome;
  const LimitReport &x = a.outcome->report, &y = b.outcome->report;
  if (x.retry_after_us != y.retry_after_us) {
    return y.retry_after_us != kNever && (x.retry_after_us == kNever || x.retry_after_us > y.retry_after_us);
  }
  const auto spends = [](const Judgement& judgement) { return judgement.call.costs[judgement.outcome->binding] > 0; };
  if (spends(a) != spends(b)) return spends(a);
  const auto share = [](const LimitReport& report) {
    return report.limit > 0 ? static_cast<double>(report.remaining) / static_cast<double>(report.limit) : 0.0;
  };
  return share(x) < share(y);
}

void append_leases(const Judgement& judgement, std::vector<limiter::LeaseRef>& out) {
  const limiter::Program& program = *judgement.rulebook->program;
  const limiter::Call& call = judgement.call;
  for (std::size_t i = 0; i < program.rules.size(); ++i) {
    const std::int64_t ttl_us = judgement.outcome->lease_ttl_us(i);
    if (ttl_us == 0) continue;
    std::string_view draw(reinterpret_cast<const char*>(call.draw.data()), call.draw.size());
    out.push_back({call.keys[program.rules[i].group], program.limits[i].name,
                   limiter::lease_member(draw, call.costs[i], static_cast<double>(ttl_us))});
  }
}

}  // namespace

std::expected<const policy::KeyView*, CredentialFault> authenticate(const policy::Snapshot& snapshot,
                                                                    std::string_view presented, const Moment& now,
                                                                    VerifiedKeys* verified) {
  const auto key = split_key(presented);
  if (!key) return std::unexpected(fault_of_form(presented, CredentialKind::api_key));
  const policy::KeyView* known = snapshot.find_key(key->id);
  const bool was_verified = verified != nullptr && verified->contains(known, key->secret);
  const bool matches = was_verified || verify(known ? known->hash : dummy_key_hash(), key->secret);
  if (known && matches) {
    if (verified != nullptr && !was_verified) verified->add(*known, key->secret);
    if (known->expires_at_us == INT64_MAX || now.us() < known->expires_at_us) return known;
    return std::unexpected(CredentialFault::expired);
  }
  return std::unexpected(parse_key(presented) ? CredentialFault::unknown : CredentialFault::malformed);
}

void prepare_call(const policy::TenantView& tenant, const CheckRequest& request, Judgement& judgement) {
  const limiter::Program& program = *judgement.rulebook->program;
  limiter::Call& call = judgement.call;
  call.program = &program;
  call.first_hash = policy::counter_keys(tenant.key_head, *judgement.rulebook, request, call.keys, judgement.pattern);
  for (std::size_t i = 0; i < program.rules.size(); ++i) {
    const std::int64_t cost =
        program.rules[i].counts_requests ? request.requests : request.cost_of(program.limits[i].unit);
    call.costs[i] = static_cast<std::uint32_t>(cost);
  }
  if (program.leases > 0) random_bytes(call.draw);
}

bool wants_local_limit(const Judgement& judgement) {
  if (judgement.outcome) return false;
  const Enforcement& enforcement = judgement.rulebook->enforcement;
  return failure_mode_for(enforcement, judgement.outcome.error()) == FailureMode::fail_degrade &&
         enforcement.degrade_action == DegradeAction::local_limit;
}

void put_binding_first(std::span<Judgement> judgements) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < judgements.size() && judgements[i].role == Role::decides; ++i) {
    if (binds_more(judgements[i], judgements[best])) best = i;
  }
  if (best > 0) std::swap(judgements[0], judgements[best]);
}

Decision make_decision(const Selection& selection, const CheckRequest& request, std::span<const Judgement> judgements) {
  const Judgement& first = judgements.front();
  const Rulebook& rulebook = *first.rulebook;
  Decision decision;
  decision.request_id = request.request_id;
  decision.shadow = first.role == Role::shadow;
  name_rulebook(rulebook, decision);
  if (first.outcome) {
    add_limit_numbers(first, decision);
    // A check that was held in line, and never judged, has the numbers of one limit only.
    if (request.explain && !first.outcome->limits.empty()) explain_limits(first, request, decision);
  }
  decision.explain = request.explain;
  if (request.explain) decision.candidates = selection.candidates;
  if (decision.shadow) {  // shadow policies are reported, never enforced
    decision.allowed = true;
    decision.reason = Reason::shadow;
    decision.would_allow = would_allow(first, request);
    decision.over_limit = first.outcome && !first.outcome->allowed;
  } else if (!first.outcome) {
    apply_failure(rulebook.enforcement, first.outcome.error(), decision);
    if (request.explain) decision.cause = limiter::describe(first.outcome.error().fault);
  } else if (!first.outcome->allowed) {
    apply_action(rulebook.enforcement, request, decision);
  } else {
    decision.reason = Reason::within_limit;
    bool delayed = rulebook.enforcement.action == Action::delay && first.outcome->report.delay_us > 0;
    decision.action = delayed ? Action::delay : Action::allow;
  }
  if (first.local) decision.reason = Reason::degraded;
  for (const Judgement& shadow : judgements.subspan(1)) {
    if (shadow.role == Role::shadow && shadow.outcome)
      decision.shadow_result = shadow_result(*shadow.rulebook, *shadow.outcome);
  }
  return decision;
}

Decision settled_decision(const Selection& selection, const CheckRequest& request) {
  Decision decision;
  decision.request_id = request.request_id;
  decision.explain = request.explain;
  if (request.explain) decision.candidates = selection.candidates;
  decision.reason = selection.settled.reason;
  decision.allowed = selection.settled.allowed;
  decision.action = decision.allowed ? Action::allow : Action::deny;
  if (selection.primary() != nullptr) name_rulebook(*selection.primary(), decision);
  return decision;
}

std::chrono::microseconds patience_of(const CheckRequest& request, const Judgement& judgement) {
  if (judgement.call.origin.batch) return {};
  if (request.wait) return *request.wait;
  const Enforcement& enforcement = judgement.rulebook->enforcement;
  const Limit& binding = judgement.rulebook->program->limits[judgement.outcome->binding];
  if (enforcement.action != Action::delay || is_bucket(binding.algorithm)) return {};
  return enforcement.max_delay;
}

std::chrono::microseconds patience_in_line(const CheckRequest& request, const Judgement& judgement) {
  const Enforcement& enforcement = judgement.rulebook->enforcement;
  const limiter::Program& program = *judgement.rulebook->program;
  const bool refuses =
      judgement.role == Role::decides &&
      (enforcement.action == Action::deny || enforcement.action == Action::drop || enforcement.action == Action::delay);
  const auto costs = std::span(judgement.call.costs).first(program.limits.size());
  const bool reads = std::ranges::none_of(costs, [](std::uint32_t cost) { return cost > 0; });
  if (!refuses || reads || judgement.call.origin.batch) return {};
  if (request.wait) return *request.wait;
  const auto holds = [](const Limit& limit) { return !is_bucket(limit.algorithm); };
  if (enforcement.action != Action::delay || std::ranges::none_of(program.limits, holds)) return {};
  return enforcement.max_delay;
}

std::optional<NextTry> next_try(const Judgement& judgement) {
  const Outcome& outcome = *judgement.outcome;
  if (outcome.report.retry_after_us == kNever) return std::nullopt;
  const std::chrono::microseconds retry(outcome.report.retry_after_us);
  const Algorithm binding = judgement.rulebook->program->limits[outcome.binding].algorithm;
  if (binding == Algorithm::concurrency) return NextTry{std::min<std::chrono::microseconds>(retry, kLeaseTry), true};
  return NextTry{retry, false};
}

void age(Outcome& outcome, std::chrono::microseconds by) {
  outcome.now_us += by.count();
  LimitReport& report = outcome.report;
  report.reset_after_us = std::max<std::int64_t>(report.reset_after_us - by.count(), 0);
  if (report.retry_after_us != kNever) {
    report.retry_after_us = std::max<std::int64_t>(report.retry_after_us - by.count(), 1);
  }
}

std::string lease_id_of(const policy::TenantView& tenant, std::span<const Judgement> judgements, Decision& decision) {
  std::vector<limiter::LeaseRef> leases;
  std::int64_t earliest = INT64_MAX;
  for (const Judgement& judgement : judgements) {
    if (judgement.rulebook->program->leases == 0 || !judgement.outcome) continue;
    append_leases(judgement, leases);
    for (std::int64_t ttl : judgement.outcome->lease_ttls_us) {
      if (ttl > 0) earliest = std::min(earliest, judgement.outcome->now_us + ttl);
    }
  }
  if (leases.empty()) return {};
  decision.lease_expires_at_us = earliest;
  return limiter::encode_lease_id(tenant.tenant.id, leases);
}

}  // namespace sluice::decide
