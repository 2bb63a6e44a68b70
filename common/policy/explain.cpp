#include "common/policy/explain.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "common/base/timestamp.hpp"
#include "common/policy/levels.hpp"
#include "common/policy/precedence.hpp"
#include "common/policy/rollout.hpp"

namespace sluice::policy {
namespace {

constexpr std::size_t kMaxExplained = 64;

std::string time_text(std::int64_t at_us) { return format_timestamp(WallTime(Micros(at_us))); }

// Describes the widest value of the term, because precedence compares that value.
std::string narrowness_text(const Term& term) {
  if (term.narrowness == kExact) return "an exact value";
  if (term.narrowness >= kPattern) return "a pattern";
  const std::size_t bytes = term.narrowness >> kNarrownessShift;
  auto is_widest = [&](const std::string& prefix) { return prefix.size() == bytes; };
  if (!std::ranges::any_of(term.prefixes, is_widest)) return "an address block";
  return fmt::format("a prefix of {} bytes", bytes);
}

// `term` is in the scope of the policy that precedes `loser`.
std::string narrower_text(const CompiledPolicy& loser, const Term& term) {
  const auto same = std::ranges::find(loser.scope, term.dimension, &Term::dimension);
  const std::string name = to_string(term.dimension);
  if (same == loser.scope.end()) return fmt::format("names {}, and this policy does not", name);
  const std::string winners = narrowness_text(term), losers = narrowness_text(*same);
  return fmt::format("is narrower in {}: it has {}, this policy has {}", name, winners,
                     winners == losers ? "a wider one" : losers);
}

// The text calls `loser` "this policy".
std::string outranked_text(const CompiledPolicy& winner, const CompiledPolicy& loser) {
  const Ordering ordering = compare(winner, loser);
  switch (ordering.by) {
    case Criterion::level:
      return fmt::format("{} is more specific: it names {}, this policy names {}", winner.id(),
                         level_name(winner.level), level_name(loser.level));
    case Criterion::method:
      return fmt::format("{} names a method beside the route, this policy does not", winner.id());
    case Criterion::priority:
      return fmt::format("{} has the higher priority: {}, this policy has {}", winner.id(), winner.priority,
                         loser.priority);
    case Criterion::dimensions:
      return fmt::format("{} is narrower: it names {} dimensions, this policy names {}", winner.id(),
                         winner.scope.size(), loser.scope.size());
    case Criterion::narrowness:
      return fmt::format("{} {}", winner.id(), narrower_text(loser, *ordering.dimension));
    case Criterion::version:
      return fmt::format("{} has the higher version: {}, this policy has {}", winner.id(), winner.rulebook.version,
                         loser.rulebook.version);
    case Criterion::id:
      return fmt::format("the two differ only in their ids, and {} sorts first: give one of them a priority",
                         winner.id());
  }
  return {};
}

struct Situation {
  const Match& match;
  const CheckRequest& request;
  bool alone = false;  // exactly one of the policies that apply is not in shadow mode
  bool off = false;    // the deciding policy is off
};

std::string decides_text(const Candidate& candidate, bool alone) {
  switch (candidate.mode) {
    case Mode::off:
      return candidate.policy->rulebook.enforcement.mode == Mode::off
                 ? "ranks first, and its mode is off: nothing is judged"
                 : "ranks first, and the mode of its tenant or of the bundle is off: nothing is judged";
    case Mode::shadow:
      return "only shadow policies apply: judged and reported, never enforced";
    case Mode::enforce:
      break;
  }
  return alone ? "the only policy that applies and is not in shadow mode"
               : "ranks first among the policies that apply and are not in shadow mode";
}

// REQUIRES: `policy` is in shadow mode and is not judged.
std::string shadow_text(const Situation& situation, const CompiledPolicy& policy) {
  const Match& match = situation.match;
  if (situation.off)
    return fmt::format("in shadow mode and not judged: the deciding policy {} is off", match.decides->id());
  if (match.shadow) return "in shadow mode below another shadow, not judged: " + outranked_text(*match.shadow, policy);
  return "in shadow mode below the deciding policy, not judged: " + outranked_text(*match.decides, policy);
}

std::pair<CandidateOutcome, std::string> outcome_of(const Situation& situation, const Candidate& candidate) {
  const Match& match = situation.match;
  const CompiledPolicy& policy = *candidate.policy;
  const CompiledPolicy* deciding = match.decides ? match.decides : match.shadow;
  switch (candidate.applicability) {
    case Applicability::disabled:
      return {CandidateOutcome::disabled, "enabled is false"};
    case Applicability::not_yet_valid:
      return {CandidateOutcome::not_yet_valid, "valid_from is " + time_text(policy.valid_from_us)};
    case Applicability::expired:
      return {CandidateOutcome::expired, "valid_to was " + time_text(policy.valid_to_us)};
    case Applicability::expression_false:
      return {CandidateOutcome::expression_false, "its match_expr is false for this request"};
    case Applicability::outside_rollout:
      return {CandidateOutcome::outside_rollout,
              fmt::format("rollout_percent covers rollout numbers below {}; this request has number {}", policy.rollout,
                          rollout_number(policy, situation.request))};
    case Applicability::applies:
    case Applicability::out_of_scope:  // never a candidate
      break;
  }
  if (&policy == deciding) return {CandidateOutcome::decides, decides_text(candidate, situation.alone)};
  if (&policy == match.shadow && !situation.off) {
    return {CandidateOutcome::shadow_judged,
            "in shadow mode above the deciding policy: judged and reported, but not enforced"};
  }
  if (candidate.mode == Mode::shadow) return {CandidateOutcome::shadow_not_judged, shadow_text(situation, policy)};
  return {CandidateOutcome::outranked, outranked_text(*deciding, policy)};
}

}  // namespace

CandidateList explain(const Match& match, const std::vector<Candidate>& all, const CheckRequest& request) {
  auto could_decide = [](const Candidate& each) {
    return each.applicability == Applicability::applies && each.mode != Mode::shadow;
  };
  auto is_off = [&](const Candidate& each) { return each.policy == match.decides && each.mode == Mode::off; };
  const Situation situation{match, request, std::ranges::count_if(all, could_decide) == 1,
                            std::ranges::any_of(all, is_off)};
  CandidateList list;
  for (const Candidate& candidate : all) {
    const bool judges = candidate.policy == match.decides || candidate.policy == match.shadow;
    if (list.shown.size() >= kMaxExplained && !judges) continue;  // always show the deciding and the shadow policy
    auto [outcome, why] = outcome_of(situation, candidate);
    const Rulebook& rulebook = candidate.policy->rulebook;
    list.shown.push_back({rulebook.owner_id, rulebook.version, rulebook.plan_id, outcome, std::move(why)});
  }
  list.omitted = all.size() - list.shown.size();
  return list;
}

}  // namespace sluice::policy
