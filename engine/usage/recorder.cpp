#include "engine/usage/recorder.hpp"

#include <optional>

#include "engine/usage/describe_check.hpp"
#include "engine/usage/quota_marks.hpp"

namespace sluice::usage {
namespace {

// Of the limit that decided; nullopt if no limit was judged.
std::optional<Algorithm> algorithm_of(const decide::DecidedCheck& check) {
  if (!check.decision.has_limit) return std::nullopt;
  return check.rulebook->program->limits[check.judgements.front().outcome->binding].algorithm;
}

}  // namespace

void Recorder::decided(const decide::DecidedCheck& check) {
  const Decision& decision = check.decision;
  Counts& counts = counts_of(check.tenant, check.rulebook);
  counts.metrics->count(decision.allowed, decision.reason);
  if (decision.reason == Reason::overload) count_overload(counts, check.tenant.tenant.id, check.overload);
  if (decision.has_limit) observe_share(decision, counts);
  if (decision.reason == Reason::no_policy) [[unlikely]]
    count_unmatched(check, counts);
  // The last to use `counts`: it looks up the counters of shadows.
  if (counts.usage && decision.reason != Reason::overload) count_usage(check, *counts.usage);
  if (decision.reason == Reason::fail_open) metrics_.count_failure_mode_decision(FailureMode::fail_open);
  if (decision.reason == Reason::fail_closed) metrics_.count_failure_mode_decision(FailureMode::fail_closed);
  if (decision.reason == Reason::degraded) metrics_.count_failure_mode_decision(FailureMode::fail_degrade);
  if (!check.held) metrics_.decision_duration.observe(algorithm_of(check), decision.allowed, check.took);
  if (decision.shadow || decision.shadow_result) [[unlikely]]
    count_shadows(check);
  if (check.span != nullptr) [[unlikely]]
    describe_check(check);
  if (log_.wants(decision.allowed)) log(check);
  if (ring_ != nullptr) [[unlikely]]
    record(check);
}

void Recorder::decided_without_tenant(const Decision& decision, decide::OverloadCause overload) {
  if (!without_tenant_.metrics) without_tenant_.metrics = &metrics_.decisions.counters({});
  without_tenant_.metrics->count(decision.allowed, decision.reason);
  if (decision.reason == Reason::overload) count_overload(without_tenant_, {}, overload);
}

void Recorder::observe_share(const Decision& decision, Counts& counts) {
  const std::uint64_t share = counts.metrics->utilization.observe(decision.report.limit, decision.report.remaining);
  if (counts.usage) counts.usage->observe(share);
}

void Recorder::count_overload(Counts& counts, std::string_view tenant, decide::OverloadCause cause) {
  if (!counts.overload) counts.overload = &metrics_.overloads.row(tenant);
  counts.overload->count(static_cast<std::size_t>(cause));
}

void Recorder::count_unmatched(const decide::DecidedCheck& check, Counts& counts) {
  const std::string_view tenant = check.tenant.tenant.id;
  if (!counts.unmatched) counts.unmatched = &metrics_.unmatched.row(tenant);
  counts.unmatched->count(0);
  const Value* resource = check.request.find({Dimension::resource, ""});
  if (usage_ && resource) usage_->unmatched(tenant, resource->text);
}

void Recorder::count_shadows(const decide::DecidedCheck& check) {
  for (const decide::Judgement& judgement : check.judgements) {
    if (judgement.role != policy::Role::shadow || !judgement.outcome) continue;
    counts_of(check.tenant, judgement.rulebook).metrics->count_shadow(!judgement.outcome->allowed);
  }
}

void Recorder::key_used(const policy::KeyView& key) noexcept {
  if (usage_ != nullptr && key.used.is_first_in(usage_->key_interval())) [[unlikely]]
    usage_->key_used(key.id);
}

// Held checks are few, so the look-up does not matter.
void Recorder::waited(const policy::TenantView& tenant, decide::WaitOutcome outcome) {
  metrics_.held_checks.row(tenant.tenant.id).count(static_cast<std::size_t>(outcome));
}

void Recorder::snapshot_replaced() {
  counts_.clear();
  if (usage_) usage_->forget_rows();
}

Recorder::Counts& Recorder::counts_of(const policy::TenantView& tenant, const policy::Rulebook* rulebook) {
  const bool by_policy = (policy_label_ || usage_) && rulebook && rulebook->is_policy;
  Counts& counts = counts_[by_policy ? static_cast<const void*>(rulebook) : &tenant];
  if (!counts.metrics) {
    const std::string_view policy = by_policy ? std::string_view(rulebook->owner_id) : std::string_view();
    if (usage_) counts.usage = &usage_->row(tenant.tenant.id, policy);
    counts.metrics = &metrics_.decisions.counters(tenant.tenant.id, policy_label_ ? policy : std::string_view());
  }
  return counts;
}

void Recorder::count_usage(const decide::DecidedCheck& check, UsageCounters& counters) {
  const Decision& decision = check.decision;
  counters.count(outcome_of(decision));
  for (const decide::Judgement& judgement : check.judgements) {
    if (judgement.call.program->has_quotas) [[unlikely]]
      note_quotas(check, judgement);
    if (judgement.role != policy::Role::shadow || !judgement.outcome) continue;
    UsageCounters& shadow = *counts_of(check.tenant, judgement.rulebook).usage;
    shadow.count(judgement.outcome->allowed ? UsageOutcome::shadow_allowed : UsageOutcome::shadow_denied);
  }
  if (!is_throttled(decision)) return;
  const Value* subject = check.request.find({Dimension::subject, ""});
  if (!subject) return;
  usage_->throttled(check.tenant.tenant.id, decision.policy_id, subject->text, check.rulebook->report_subjects);
}

// A shadow decides nothing, and the local limits of fail_degrade count apart from the quota.
void Recorder::note_quotas(const decide::DecidedCheck& check, const decide::Judgement& judgement) {
  if (judgement.role == policy::Role::shadow || judgement.local || !judgement.outcome) return;
  const auto note = [&](const limiter::QuotaMark& mark) {
    if (is_hidden(judgement, mark)) return;
    if (!usage_->wants_mark(check.tenant.tenant.id, name_of(judgement, mark))) return;
    usage_->reached(describe_quota(check, judgement, mark));
  };
  for (const limiter::QuotaMark& mark : judgement.outcome->marks) note(mark);
  if (const auto mark = used_up(judgement)) note(*mark);
}

// An overloaded agent has not matched the check, and does not know all its dimensions.
void Recorder::record(const decide::DecidedCheck& check) {
  if (!check.tenant.tenant.record_requests || check.decision.reason == Reason::overload) return;
  whatif::RecordHead head{
      .at_us = 0, .tenant = check.tenant.name->hash, .bytes = 0, .allowed = check.decision.allowed, .batch = false};
  const bool judged = !check.judgements.empty();
  head.batch = judged && check.judgements.front().call.origin.batch;
  const bool has_time = judged && check.judgements.front().outcome;
  head.at_us = has_time ? check.judgements.front().outcome->now_us : clock_->now_us();
  ring_->record(head, check.request);
}

void Recorder::log(const decide::DecidedCheck& check) {
  const Decision& decision = check.decision;
  const Value* subject = check.request.find({Dimension::subject, ""});
  telemetry::DecisionRecord record;
  record.tenant = check.tenant.tenant.id;
  if (subject) record.subject = subject->text;
  record.has_subject = subject != nullptr;
  record.policy_id = decision.policy_id;
  record.plan_id = decision.plan_id;
  if (decision.has_limit) record.remaining = decision.report.remaining;
  record.algorithm = algorithm_of(check);
  if (decision.shadow_result) {
    record.shadow_policy_id = decision.shadow_result->policy_id;
    record.shadow_over_limit = !decision.shadow_result->allowed;
  } else if (decision.shadow) {
    record.shadow_policy_id = decision.policy_id;
    record.shadow_over_limit = decision.over_limit;
  }
  record.allowed = decision.allowed;
  record.reason = decision.reason;
  record.took = check.took;
  if (const Value* signal = check.request.find({Dimension::signal, ""})) record.signal = signal->text;
  record.request_id = check.request.request_id;
  record.traceparent = check.traceparent;
  if (check.span != nullptr) record.span = &check.span->context;
  log_.write(record);
}

}  // namespace sluice::usage
