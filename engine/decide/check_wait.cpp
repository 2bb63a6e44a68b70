// The part of Check for checks that are held until they fit.
#include <algorithm>
#include <new>
#include <utility>

#include "common/base/keyed_hash.hpp"
#include "engine/decide/check.hpp"

namespace sluice::decide {
namespace {

using std::chrono::microseconds;
using std::chrono::steady_clock;

WaitOutcome outcome_of(const Decision& decision) {
  switch (decision.reason) {
    case Reason::limit_exceeded:
      return decision.allowed ? WaitOutcome::allowed : WaitOutcome::timed_out;
    case Reason::fail_open:
    case Reason::fail_closed:
    case Reason::degraded:
    case Reason::overload:
      return WaitOutcome::failed;
    default:
      return WaitOutcome::allowed;
  }
}

}  // namespace

// Checks that bring limits have lines of their own, because they may fit while others do not.
WaitingRoom::Seat Check::seat() const {
  const limiter::Call& call = judgements_[0].call;
  std::uint64_t counter = 0;
  for (std::size_t group = 0; group < call.program->groups.size(); ++group) {
    counter = counter * 31 + hash_text(call.keys[group]);
  }
  for (const BroughtLimit& brought : request_->limit_override) {
    counter = (counter * 31 + hash_text(brought.name)) * 31 + static_cast<std::uint64_t>(brought.limit);
  }
  return {.caller = caller_of(call.origin), .counter = counter};
}

// Returns whether the check waits behind others of its counter, or is denied as they were, because there is no place.
// If the check's time ends before the line's next attempt, it does not wait: the counter store judges it at once.
bool Check::stand_in_line() {
  const microseconds patience = patience_in_line(*request_, judgements_[0]);
  if (patience == microseconds(0)) return false;
  WaitingRoom& room = decider_.waiting_room();
  const WaitingRoom::Seat here = seat();
  const auto line = room.find(here.counter);
  const auto now = steady_clock::now();
  const auto until = now + std::min<WaitingRoom::Duration>(patience, room.longest());
  if (!line || line->next_try > until) return false;
  if (room.join(guest_, here, until, until, nullptr)) {
    begin_wait(now);
  } else {
    decider_.observer().waited(*caller_->tenant, WaitOutcome::full);
    answer(denied_as(*line->denial));
  }
  return true;
}

// Returns whether the check waits. It does not if it cannot fit in the time that it has. REQUIRES: it is denied.
bool Check::hold(const Decision& decision) {
  if (decision.reason != Reason::limit_exceeded || asks_last_) return false;
  if (caller_left_) {
    wait_outcome_ = WaitOutcome::left;
    return false;
  }
  const Judgement& judgement = judgements_[0];
  const microseconds patience = patience_of(*request_, judgement);
  const auto next = next_try(judgement);
  if (patience == microseconds(0) || !next) return false;
  WaitingRoom& room = decider_.waiting_room();
  const auto now = steady_clock::now();
  const auto until = held_ ? guest_.until() : now + std::min<WaitingRoom::Duration>(patience, room.longest());
  if (now >= until || (now + next->after > until && !next->sooner)) return false;
  const auto try_at = room.jittered(now, next->after, until);
  WaitingRoom::Denial denial{*judgement.outcome, now};
  denial.outcome.limits.clear();
  denied_at_ = now;
  if (held_) {
    if (!room.wait_on(guest_, try_at, denial)) return false;
    place_.leave();
    return true;
  }
  if (!room.join(guest_, seat(), until, try_at, &denial)) {
    decider_.observer().waited(*caller_->tenant, WaitOutcome::full);
    return false;
  }
  begin_wait(now);
  return true;
}

void Check::begin_wait(WaitingRoom::Time now) {
  held_ = true;
  held_since_ = now;
  wait_outcome_.reset();
  place_.leave();
  if (!listener_->wait_begins(slot_)) decider_.waiting_room().dismiss(guest_, now);
}

// A shadow that was judged already is not charged again.
void Check::ask_again(bool last) {
  started_ = steady_clock::now();
  asks_last_ = last;
  try {
    auto place = decider_.readmit();
    if (!place) return refuse_for(OverloadCause::in_flight);
    place_ = *std::move(place);
    const limiter::Origin origin = judgements_[0].call.origin;
    if (!claim_place(origin)) return;
    if (!take_redis_time(origin)) return refuse_for(OverloadCause::redis_time);
    ask_store(judged_ ? limiter::enforced_count(std::span(calls_).first(judgement_count_)) : judgement_count_);
  } catch (const std::bad_alloc&) {
    end_without_memory();
  }
}

void Check::give_up(WaitOutcome outcome, const WaitingRoom::Denial& denial) {
  wait_outcome_ = outcome;
  try {
    answer(denied_as(denial));
  } catch (const std::bad_alloc&) {
    end_without_memory();
  }
}

// The decision on a check that does not ask the store any more. If it never did, it has the numbers of `denial`, which
// a check before it on the same counter got. Its policy may be newer than that check's, and have fewer limits.
Decision Check::denied_as(const WaitingRoom::Denial& denial) {
  Judgement& judgement = judgements_[0];
  if (!judged_) {
    judgement_count_ = 1;  // no shadow was judged
    judgement.outcome = denial.outcome;
    if (judgement.outcome->binding >= judgement.rulebook->program->limits.size()) judgement.outcome->binding = 0;
  }
  const auto passed = steady_clock::now() - (judged_ ? denied_at_ : denial.at);
  age(*judgement.outcome, std::chrono::duration_cast<microseconds>(passed));
  return decide();
}

void Check::end_wait(Decision& decision) {
  const auto now = steady_clock::now();
  const WaitOutcome outcome = wait_outcome_.value_or(outcome_of(decision));
  decision.waited_us = std::chrono::duration_cast<microseconds>(now - held_since_).count();
  decider_.waiting_room().leave(guest_, now, outcome == WaitOutcome::failed);
  decider_.observer().waited(*caller_->tenant, outcome);
}

void Check::abandon() {
  caller_left_ = true;
  decider_.waiting_room().dismiss(guest_, steady_clock::now());
}

}  // namespace sluice::decide
