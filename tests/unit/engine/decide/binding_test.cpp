// Which of several rulebooks that decide together makes the decision.
#include <doctest/doctest.h>

#include <array>
#include <string>

#include "engine/decide/decision.hpp"

namespace sluice::decide {
namespace {

using policy::Role;
using policy::Rulebook;

limiter::Outcome outcome_of(bool allowed, std::int64_t limit, std::int64_t remaining, std::int64_t retry_after_us = 0) {
  limiter::Outcome outcome;
  outcome.allowed = allowed;
  outcome.report = {allowed, limit, remaining, 0, retry_after_us, 0};
  return outcome;
}
const limiter::Outcome kPlenty = outcome_of(true, 10, 9);
const limiter::Outcome kScarce = outcome_of(true, 100, 10);
limiter::Outcome denied(std::int64_t retry_after_us) { return outcome_of(false, 10, 0, retry_after_us); }

Rulebook rulebook_of(const std::string& id, Action action = Action::deny,
                     FailureMode failure_mode = FailureMode::fail_closed) {
  Rulebook rulebook;
  rulebook.owner_id = id;
  rulebook.enforcement.action = action;
  rulebook.enforcement.failure_mode = failure_mode;
  return rulebook;
}

struct Pair {
  Pair(Rulebook first_rulebook, limiter::StoreResult<limiter::Outcome> first_outcome, Rulebook second_rulebook,
       limiter::StoreResult<limiter::Outcome> second_outcome)
      : first(std::move(first_rulebook)), second(std::move(second_rulebook)) {
    judgements[0].rulebook = &first;
    judgements[0].outcome = std::move(first_outcome);
    judgements[1].rulebook = &second;
    judgements[1].outcome = std::move(second_outcome);
  }
  // The owner of the rulebook that answers.
  std::string binding() {
    put_binding_first(judgements);
    return judgements[0].rulebook->owner_id;
  }
  Rulebook first;
  Rulebook second;
  std::array<Judgement, 2> judgements;
};

const Rulebook kA = rulebook_of("a"), kB = rulebook_of("b");

}  // namespace

TEST_CASE("of rulebooks that admit, the one with the smallest share left answers, the first one on a tie") {
  CHECK(Pair(kA, kPlenty, kB, kScarce).binding() == "b");
  CHECK(Pair(kA, kScarce, kB, kPlenty).binding() == "a");
  CHECK(Pair(kA, kPlenty, kB, kPlenty).binding() == "a");
}

TEST_CASE("a rulebook that denies answers before one that admits, and of two the one with the longest wait") {
  CHECK(Pair(kA, kScarce, kB, denied(1)).binding() == "b");
  CHECK(Pair(kA, denied(1), kB, kScarce).binding() == "a");
  CHECK(Pair(kA, denied(1), kB, denied(2)).binding() == "b");
  CHECK(Pair(kA, denied(2), kB, denied(1)).binding() == "a");
  CHECK(Pair(kA, denied(5), kB, denied(kNever)).binding() == "b");
  CHECK(Pair(kA, denied(kNever), kB, denied(5)).binding() == "a");
}

TEST_CASE("a rulebook whose action lets requests pass over the limit never answers for one that refuses") {
  for (const Action soft :
       {Action::allow, Action::shadow_only, Action::downgrade, Action::sample, Action::drop_low_priority}) {
    CAPTURE(to_string(soft));
    CHECK(Pair(rulebook_of("soft", soft), denied(9), kB, denied(1)).binding() == "b");
    CHECK(Pair(kA, denied(1), rulebook_of("soft", soft), denied(9)).binding() == "a");
    CHECK(Pair(kA, kScarce, rulebook_of("soft", soft), denied(9)).binding() == "soft");
  }
  CHECK(Pair(rulebook_of("allow", Action::allow), denied(9), rulebook_of("sample", Action::sample), denied(1))
            .binding() == "sample");
}

TEST_CASE("if the counter store fails, a rulebook that fails closed answers") {
  const limiter::StoreError error{limiter::StoreFault::timeout, true};
  const Rulebook open = rulebook_of("open", Action::deny, FailureMode::fail_open);
  CHECK(Pair(open, std::unexpected(error), kB, std::unexpected(error)).binding() == "b");
  CHECK(Pair(kA, std::unexpected(error), open, std::unexpected(error)).binding() == "a");
}

TEST_CASE("a shadow never answers for a rulebook that decides") {
  Pair pair(kA, kPlenty, kB, denied(9));
  pair.judgements[1].role = Role::shadow;
  CHECK(pair.binding() == "a");
}

}  // namespace sluice::decide
