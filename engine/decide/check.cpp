#include "engine/decide/check.hpp"

#include <new>
#include <utility>

#include "common/base/text.hpp"
#include "engine/decide/limit_override.hpp"

namespace sluice::decide {

using policy::Selection;

void Check::start(InFlight::Place place, const Caller& caller, const limiter::Origin& origin, CheckRequest& request,
                  const CheckTrace& trace, CheckListener& listener, std::size_t slot) {
  if (decider_.is_timed()) started_ = std::chrono::steady_clock::now();
  place_ = std::move(place);
  caller_ = &caller;
  request_ = &request;
  traceparent_ = trace.traceparent;
  spans_.begin(trace, decider_.tracer());
  listener_ = &listener;
  slot_ = slot;
  judgement_count_ = 0;
  overload_ = OverloadCause::counter_store;
  counted_ = ended_ = held_ = judged_ = asks_last_ = caller_left_ = false;
  try {
    if (!claim_place(origin)) return;
    if (!request.limit_override.empty() && !caller.may_override) {
      return refuse({.kind = Refusal::Kind::may_not_override});
    }
    select(origin);
  } catch (const std::bad_alloc&) {
    end_without_memory();
  }
}

InFlight::Caller Check::caller_of(const limiter::Origin& origin) const {
  return {.tenant = origin.tenant,
          .key = origin.api_key,
          .only_tenant = caller_->is_only_tenant(),
          .only_key = caller_->tenant->keys <= 1};
}

// Returns false if the check is answered, because the tenant or its key has more than its share.
bool Check::claim_place(const limiter::Origin& origin) {
  if (!place_) return true;
  const InFlight::Claim claim = place_.claim(caller_of(origin));
  if (claim == InFlight::Claim::granted) return true;
  refuse_for(claim == InFlight::Claim::tenant_share ? OverloadCause::tenant_share : OverloadCause::key_share);
  return false;
}

void Check::select(const limiter::Origin& origin) {
  const Caller& caller = *caller_;
  CheckRequest& request = *request_;
  MatchingBudget& budget = decider_.matching();
  const bool bounded = budget.bounds() && !caller.is_only_tenant();
  policy::MatchTime time(started_, bounded ? budget.allowance(origin.tenant, started_) : std::chrono::nanoseconds(0));
  policy::select(selection_, *caller.snapshot, *caller.tenant, caller.key_id, request, Moment(decider_.clock()),
                 bounded ? &time : nullptr, decider_.memory_of(caller));
  if (bounded) budget.charge(origin.tenant, time.taken());
  switch (selection_.kind) {
    case Selection::Kind::rulebooks:
      if (!request.limit_override.empty() && !accept_limits()) return;
      return send_to_store(origin);
    case Selection::Kind::settled:
      return answer(settled_decision(selection_, request));
    case Selection::Kind::unknown_plan:
      return refuse_plan();
    case Selection::Kind::missing_dimension:
      return refuse({.kind = Refusal::Kind::missing_dimension,
                     .dimension = to_string(*selection_.missing),
                     .counted_by = selection_.primary()->owner_id,
                     .by_policy = selection_.primary()->is_policy});
    case Selection::Kind::out_of_time:
      return refuse_for(OverloadCause::matching);
  }
}

// Names plans only to callers that may choose one.
void Check::refuse_plan() {
  const policy::TenantView& tenant = *caller_->tenant;
  NearestNames nearest(request_->plan_id);
  if (tenant.tenant.allows_plan_id) {
    tenant.plans.for_each([&](const auto& plan) { nearest.offer(plan->rulebook.owner_id); });
  }
  refuse({.kind = Refusal::Kind::unknown_plan, .nearest = nearest.names()});
}

// Returns false if the check is refused, because it brings limits that it cannot have.
bool Check::accept_limits() {
  const std::vector<LimitFault> faults = limit_faults(selection_, *request_);
  if (faults.empty()) return true;
  refuse({.kind = Refusal::Kind::limits, .limit_faults = faults});
  return false;
}

// Charges the tenant for the check if the store is busy. Returns false if the tenant has no time left there.
bool Check::take_redis_time(const limiter::Origin& origin) {
  const limiter::CounterStore& store = decider_.store();
  RedisTime& redis_time = decider_.redis_time();
  if (!redis_time.bounds() || decider_.local_limits() == nullptr || !store.busy(started_)) return true;
  std::chrono::microseconds cost{0};
  for (const policy::SelectedRulebook& selected : selection_.rulebooks) cost += selected.rulebook->program->redis_time;
  return redis_time.take(origin.tenant, cost, decider_.local_limits()->agents_of(caller_->tenant->tenant.id),
                         store.servers(), started_);
}

void Check::send_to_store(const limiter::Origin& origin) {
  if (!take_redis_time(origin)) return refuse_for(OverloadCause::redis_time);
  judgement_count_ = selection_.rulebooks.size();
  reserve(judgement_count_);
  for (std::size_t i = 0; i < judgement_count_; ++i) {
    Judgement& judgement = judgements_[i];
    judgement.rulebook = selection_.rulebooks[i].rulebook;
    judgement.role = selection_.rulebooks[i].role;
    judgement.pattern = selection_.rulebooks[i].pattern;
    calls_[i].enforced = judgement.role == policy::Role::decides;
    // A shadow policy is explained only if no rulebook decides.
    judgement.call.explain = request_->explain && (i == 0 || calls_[i].enforced);
    judgement.call.origin = origin;
    judgement.local = false;
    prepare_call(*caller_->tenant, *request_, judgement);
    if (!request_->limit_override.empty()) bring_limits(*request_, judgement);
  }
  if (!decider_.waiting_room().empty() && stand_in_line()) return;
  ask_store(judgement_count_);
}

void Check::ask_store(std::size_t judgements) {
  open_ = judgements;
  spans_.ask(decider_.traced_store());
  if (judgements == 1) {
    Judgement& only = judgements_[0];
    if (!decider_.store().judge_at_once(only.call, only.outcome)) {
      return decider_.store().judge(only.call, answers_[0]);
    }
    open_ = 0;
    return on_all_outcomes();
  }
  decider_.store().judge_all(std::span(calls_).first(judgements));
}

void Check::reserve(std::size_t judgements) {
  if (judgements <= calls_.size())
    return;  // calls_ is filled last: if an allocation fails, the next check begins again
  judgements_.resize(judgements);
  answers_.clear();
  answers_.reserve(judgements);
  calls_.clear();
  for (std::size_t i = 0; i < judgements; ++i) {
    answers_.emplace_back(*this, i);
    calls_.push_back({.call = &judgements_[i].call, .listener = &answers_[i]});
  }
}

void Check::StoreAnswer::judged(limiter::StoreResult<limiter::Outcome>&& outcome) {
  if (check.ended_) return;
  --check.open_;
  try {
    check.judgements_[index].outcome = std::move(outcome);
    if (check.open_ == 0) check.on_all_outcomes();
  } catch (const std::bad_alloc&) {
    check.end_without_memory();
  }
}

void Check::on_all_outcomes() {
  spans_.answered(judgements());
  if (decider_.local_limits() != nullptr) {
    decider_.local_limits()->judge(*caller_->tenant, {judgements_.data(), judgement_count_});
  }
  if (judgement_count_ > 1) put_binding_first({judgements_.data(), judgement_count_});
  judged_ = true;
  Decision decision = decide();
  if (!decision.allowed && hold(decision)) return;
  const std::string lease_id = lease_id_of(*caller_->tenant, judgements(), decision);
  decision.lease_id = lease_id;
  answer(std::move(decision));
}

// The action `sample` draws once: what it denied and was held for is not let through by a second draw.
Decision Check::decide() {
  Decision decision = make_decision(selection_, *request_, judgements());
  if (held_ && decision.reason == Reason::sampled) {
    decision.allowed = false;
    decision.reason = Reason::limit_exceeded;
  }
  return decision;
}

// Calls the listener last, because the listener can start the next check in this object.
void Check::answer(Decision&& decision) {
  if (held_) end_wait(decision);
  decider_.observer().decided(
      {.decision = decision,
       .tenant = *caller_->tenant,
       .request = *request_,
       .rulebook = judgement_count_ > 0 ? judgements_[0].rulebook : selection_.primary(),
       .judgements = judgements(),
       .traceparent = traceparent_,
       .span = spans_.check(),
       .took = decider_.is_timed() ? std::chrono::steady_clock::now() - started_ : std::chrono::nanoseconds(0),
       .held = held_,
       .overload = overload_});
  counted_ = true;
  spans_.end();
  place_.leave();
  listener_->decided(slot_, decision);
}

void Check::refuse_for(OverloadCause cause) {
  overload_ = cause;
  selection_ = {};
  judgement_count_ = 0;
  Decision decision;
  decision.reason = Reason::overload;
  decision.allowed = false;
  decision.action = Action::deny;
  decision.request_id = request_->request_id;
  answer(std::move(decision));
}

void Check::refuse(Refusal refusal) {
  refusal.request_id = request_->request_id;
  spans_.end();
  place_.leave();
  listener_->refused(slot_, refusal);
}

void Check::end_without_memory() {
  ended_ = true;
  if (held_) decider_.waiting_room().leave(guest_, std::chrono::steady_clock::now());
  spans_.end();
  place_.leave();
  if (!counted_) decider_.count_overload();
  listener_->refused(slot_, {.kind = Refusal::Kind::out_of_memory});
}

}  // namespace sluice::decide
