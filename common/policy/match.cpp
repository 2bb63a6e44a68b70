#include "common/policy/match.hpp"

#include <algorithm>

#include "common/policy/rollout.hpp"

namespace sluice::policy {
namespace {

// Returns the policies of all postings in order of precedence, each policy once.
class Merge {
 public:
  explicit Merge(std::vector<Posting>& postings) : postings_(postings) {}

  const CompiledPolicy* next() {
    if (postings_.size() == 1) return next_of_one();
    for (;;) {
      Posting* lowest = nullptr;
      for (Posting& posting : postings_) {
        if (!posting.empty() && (!lowest || precedes(posting.front(), lowest->front()))) lowest = &posting;
      }
      if (!lowest) return nullptr;
      const CompiledPolicy* policy = lowest->front().policy;
      *lowest = lowest->subspan(1);
      if (policy != last_) return last_ = policy;
    }
  }

 private:
  // Most requests have one posting, of one policy.
  const CompiledPolicy* next_of_one() {
    Posting& only = postings_.front();
    while (!only.empty()) {
      const CompiledPolicy* policy = only.front().policy;
      only = only.subspan(1);
      if (policy != last_) return last_ = policy;
    }
    return nullptr;
  }

  std::vector<Posting>& postings_;
  const CompiledPolicy* last_ = nullptr;
};

}  // namespace

Mode effective_mode(Mode global, Mode tenant, Mode own) { return std::max({global, tenant, own}); }

Applicability applicability_of(const CompiledPolicy& policy, const CheckRequest& request, const Moment& now,
                               MatchTime* time) {
  if (!matches(policy.scope, request)) return Applicability::out_of_scope;
  if (!policy.enabled) return Applicability::disabled;
  if (policy.valid_from_us != INT64_MIN && now.us() < policy.valid_from_us) return Applicability::not_yet_valid;
  if (policy.valid_to_us != INT64_MAX && now.us() >= policy.valid_to_us) return Applicability::expired;
  if (policy.expression && !policy.expression->matches(request, time)) return Applicability::expression_false;
  if (!in_rollout(policy, request)) return Applicability::outside_rollout;
  return Applicability::applies;
}

Match match(const Snapshot& snapshot, const TenantView& tenant, const CheckRequest& request, const Moment& now,
            std::vector<Candidate>* all, MatchTime* time) {
  thread_local std::vector<Posting> postings;  // keeps its memory between requests
  if (all) all->clear();
  Match found;
  for (const TenantView::Level& level : tenant.levels) {
    postings.clear();
    level.active.look_up(request, postings);
    if (all) level.dormant.look_up(request, postings);
    Merge candidates(postings);
    while (const CompiledPolicy* policy = candidates.next()) {
      const Applicability applicability = applicability_of(*policy, request, now, time);
      if (time != nullptr && !time->after_candidate()) return {};
      if (applicability == Applicability::out_of_scope) continue;
      const Mode mode = effective_mode(snapshot.mode, tenant.tenant.mode, policy->mode);
      if (all) all->push_back({policy, applicability, mode});
      if (applicability != Applicability::applies || found.decides) continue;
      if (mode == Mode::shadow) {
        if (!found.shadow) found.shadow = policy;
        continue;
      }
      found.decides = policy;
      if (!all) return found;
    }
  }
  return found;
}

}  // namespace sluice::policy
