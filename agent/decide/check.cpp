#include "agent/decide/check.hpp"

#include <algorithm>

#include "common/limiter/lease_id.hpp"

namespace sluice::agent::decide {

// Taken before anything is judged: workers that ask at once must not all see the last free place.
bool CheckContext::enter() {
  if (in_flight_.fetch_add(1, std::memory_order_relaxed) < max_in_flight_) return true;
  leave();
  return false;
}

Decision CheckContext::unjudged(Reason reason, bool allowed) {
  Decision decision;
  decision.allowed = allowed;
  decision.action = allowed ? Action::allow : Action::deny;
  decision.reason = reason;
  if (!unjudged_) unjudged_ = &metrics.decisions.counters({});
  unjudged_->count(allowed, reason);
  return decision;
}

DecisionCounts CheckContext::counters(const policy::TenantView& tenant, const policy::Rulebook* rulebook) {
  const bool by_policy = (policy_label_ || usage) && rulebook && rulebook->is_policy;
  DecisionCounts& counts = counters_[by_policy ? static_cast<const void*>(rulebook) : &tenant];
  if (!counts.metrics) {
    const std::string_view policy = by_policy ? std::string_view(rulebook->owner_id) : std::string_view();
    counts.metrics = &metrics.decisions.counters(tenant.tenant.id, policy_label_ ? policy : std::string_view());
    if (usage) counts.usage = &usage->row(tenant.tenant.id, policy);
  }
  return counts;
}

void CheckContext::forget_counters() {
  counters_.clear();
  if (usage) usage->forget_rows();
}

void Check::start(std::span<char> body, const Caller& caller, CheckListener& listener, std::size_t slot) {
  started_ = std::chrono::steady_clock::now();
  caller_ = caller;
  tenant_ = &caller.snapshot->tenant_of(*caller.key);
  listener_ = &listener;
  slot_ = slot;
  auto faults = parse_check(body, request_);
  if (!faults.empty()) return refuse(faults);
  course_ = choose_course(*caller_.snapshot, *tenant_, *caller_.key, request_, context_.clock.now_us());
  switch (course_.kind) {
    case Course::Kind::judge:
      return judge();
    case Course::Kind::unknown_plan:
      return refuse(404, "There is no such plan.", {{"/plan_id", "names no plan of this tenant"}});
    case Course::Kind::missing_key:
      return refuse(422, "The request lacks what its counter is named by.",
                    {{'/' + course_.missing, "is required: the policy counts by it"}});
    default:
      return answer(conclude_unjudged(course_, *tenant_, request_));
  }
}

void Check::judge() {
  const policy::TenantView& tenant = *tenant_;
  open_ = course_.shadow ? 2 : 1;
  prepare_call(tenant, *course_.deciding, request_, decided_.call);
  if (course_.shadow) {
    prepare_call(tenant, *course_.shadow, request_, shadowed_.call);
    shadowed_.call.explain = false;
    context_.store.judge(shadowed_.call, shadowed_);
  }
  context_.store.judge(decided_.call, decided_);
}

void Check::judged() {
  if (--open_ > 0) return;
  Decision decision =
      conclude(course_, request_, decided_.call, decided_.outcome, course_.shadow ? &shadowed_.outcome : nullptr);
  std::string lease_id = take_leases(decision);
  decision.lease_id = lease_id;
  answer(decision);
}

// The lease id covers the shadow's leases too: a release frees both.
std::string Check::take_leases(Decision& decision) {
  std::vector<limiter::LeaseRef> leases;
  std::int64_t shortest = INT64_MAX;
  auto collect = [&](const policy::Rulebook* rulebook, const Judged& judged) {
    if (!rulebook || rulebook->program->leases == 0 || !judged.outcome) return;
    append_leases(*rulebook, judged.call, *judged.outcome, leases);
    for (std::int64_t ttl : judged.outcome->lease_ttl_us) {
      if (ttl > 0) shortest = std::min(shortest, judged.outcome->now_us + ttl);
    }
  };
  collect(course_.deciding, decided_);
  collect(course_.shadow, shadowed_);
  if (leases.empty()) return {};
  decision.lease_expires_at_us = shortest;
  return limiter::encode_lease_id(tenant_->tenant.id, leases);
}

// The listener comes last: it may start this check anew.
void Check::answer(const Decision& decision) {
  const DecisionCounts counts = context_.counters(*tenant_, course_.deciding);
  counts.metrics->count(decision.allowed, decision.reason);
  if (counts.usage) count_usage(decision, *counts.usage);
  if (decision.reason == Reason::fail_open || decision.reason == Reason::fail_closed) {
    context_.metrics.count_failure_mode_answer(course_.deciding->enforcement.failure_mode);
  }
  context_.metrics.decision_duration.observe(std::chrono::steady_clock::now() - started_);
  if (context_.log.wants(decision.allowed)) log(decision);
  context_.leave();
  listener_->decided(slot_, decision);
}

void Check::count_usage(const Decision& decision, usage::UsageCounters& counters) {
  counters.count(usage::outcome_of(decision));
  const auto count_shadow = [](usage::UsageCounters& of, bool allowed) {
    of.count(allowed ? usage::UsageOutcome::shadow_allowed : usage::UsageOutcome::shadow_denied);
  };
  if (decision.shadow_result) {
    count_shadow(*context_.counters(*tenant_, course_.shadow).usage, decision.shadow_result->allowed);
  } else if (decision.reason == Reason::shadow && decided_.outcome) {
    count_shadow(counters, decided_.outcome->allowed);
  }
  if (!usage::is_throttled(decision)) return;
  const Value* subject = request_.find({Dimension::subject, ""});
  if (!subject) return;
  context_.usage->throttled(tenant_->tenant.id, decision.policy_id, subject->text, course_.deciding->report_subjects);
}

void Check::log(const Decision& decision) {
  const Value* subject = request_.find({Dimension::subject, ""});
  telemetry::DecisionRecord record;
  record.tenant = tenant_->tenant.id;
  if (subject) record.subject = subject->text;
  record.has_subject = subject != nullptr;
  record.policy_id = decision.policy_id;
  record.plan_id = decision.plan_id;
  if (decision.has_limit) record.algorithm = course_.deciding->program->limits[decided_.outcome->binding].algorithm;
  record.allowed = decision.allowed;
  record.reason = decision.reason;
  record.request_id = request_.request_id;
  record.traceparent = caller_.traceparent;
  context_.log.write(record);
}

void Check::refuse(const std::vector<RequestFault>& faults) {
  Faults errors;
  for (const RequestFault& fault : faults) errors.push_back({fault.pointer, fault.text});
  unsigned status = faults.front().status;
  refuse(status, status == 400 ? "This is not a check." : "A value is out of range.", errors);
}

void Check::refuse(unsigned status, std::string_view detail, const Faults& errors) {
  context_.leave();
  listener_->refused(slot_, {.status = status, .detail = detail, .request_id = request_.request_id, .errors = errors});
}

}  // namespace sluice::agent::decide
