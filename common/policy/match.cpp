#include "common/policy/match.hpp"

#include <algorithm>

#include "common/policy/rollout.hpp"

namespace sluice::policy {
namespace {

// The postings' entries in order of precedence, each policy once.
class Merge {
 public:
  explicit Merge(std::vector<Posting>& postings) : postings_(postings) {}

  const CompiledPolicy* next() {
    for (;;) {
      Posting* lowest = nullptr;
      for (Posting& posting : postings_) {
        if (!posting.empty() && (!lowest || asked_before(posting.front(), lowest->front()))) lowest = &posting;
      }
      if (!lowest) return nullptr;
      const CompiledPolicy* policy = lowest->front().policy;
      *lowest = lowest->subspan(1);
      if (policy != last_) return last_ = policy;
    }
  }

 private:
  std::vector<Posting>& postings_;
  const CompiledPolicy* last_ = nullptr;
};

}  // namespace

Mode effective_mode(Mode global, Mode tenant, Mode own) { return std::max({global, tenant, own}); }

Verdict judge(const CompiledPolicy& policy, const CheckRequest& request, std::int64_t now_us) {
  if (!matches(policy.scope, request)) return Verdict::out_of_scope;
  if (!policy.enabled) return Verdict::disabled;
  if (now_us < policy.valid_from_us) return Verdict::not_yet_valid;
  if (now_us >= policy.valid_to_us) return Verdict::expired;
  if (policy.expression && !policy.expression->matches(request)) return Verdict::expression_false;
  if (!in_rollout(policy, request)) return Verdict::outside_rollout;
  return Verdict::applies;
}

Match match(const Snapshot& snapshot, const TenantView& tenant, const CheckRequest& request, std::int64_t now_us,
            std::vector<Candidate>* all) {
  thread_local std::vector<Posting> postings;  // keeps its memory from request to request
  if (all) all->clear();
  Match found;
  for (const TenantView::Level& level : tenant.levels) {
    postings.clear();
    level.active.look_up(request, postings);
    if (all) level.dormant.look_up(request, postings);
    Merge candidates(postings);
    while (const CompiledPolicy* policy = candidates.next()) {
      const Verdict verdict = judge(*policy, request, now_us);
      if (verdict == Verdict::out_of_scope) continue;
      const Mode mode = effective_mode(snapshot.mode, tenant.tenant.mode, policy->mode);
      if (all) all->push_back({policy, verdict, mode});
      if (verdict != Verdict::applies || found.decides) continue;
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
