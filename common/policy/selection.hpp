// Selects the rulebooks by which a check is judged, or says why there is none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <boost/container/static_vector.hpp>

#include "common/base/clock.hpp"
#include "common/domain/check_request.hpp"
#include "common/domain/decision.hpp"
#include "common/policy/match_memory.hpp"
#include "common/policy/match_time.hpp"
#include "common/policy/snapshot.hpp"

namespace sluice::policy {

enum class Role : std::uint8_t {
  decides,
  shadow,  // the outcome is reported, but never enforced
};

struct SelectedRulebook {
  const Rulebook* rulebook = nullptr;
  Role role = Role::decides;
  std::string_view pattern = {};  // of the policy's scope, if one matched the resource; "": the resource itself counts
};

struct Selection {
  enum class Kind : std::uint8_t {
    rulebooks,          // the counter store judges by `rulebooks`
    settled,            // the answer is in the member `settled`
    unknown_plan,       // the tenant has no such plan, or does not allow checks to name a plan
    missing_dimension,  // the counter key needs a dimension that the request lacks
    out_of_time,        // matching was stopped, because its time was spent
  };
  static constexpr std::size_t kMaxRulebooks = 2;  // the deciding policy and a shadow policy

  // An answer that needs no counters.
  struct Settled {
    Reason reason = Reason::no_policy;
    bool allowed = true;
  };

  Kind kind = Kind::settled;
  Settled settled;
  // Empty if no policy applies, and for unknown_plan. The decision shows the numbers of the first rulebook.
  boost::container::static_vector<SelectedRulebook, kMaxRulebooks> rulebooks;
  Mode mode = Mode::enforce;              // the effective mode of the first rulebook
  const DimensionRef* missing = nullptr;  // the dimension that the request lacks; of the snapshot
  CandidateList candidates;               // only if the request asks for an explanation

  const Rulebook* primary() const { return rulebooks.empty() ? nullptr : rulebooks.front().rulebook; }
  bool enforced() const { return !rulebooks.empty() && rulebooks.front().role == Role::decides; }
};

// Also sets the request's dimensions org, tenant and api_key, from `tenant` and `key_id`. An empty id changes nothing.
// Cuts the slash at the end of its resource if Tenant::trailing_slash says so.
// `now` is read only if a policy has a time of validity. `time` bounds the time that matching takes; nullptr: no bound.
// `memory`: nullptr, or of this snapshot. Reuses the memory of `out`.
void select(Selection& out, const Snapshot& snapshot, const TenantView& tenant, std::string_view key_id,
            CheckRequest& request, const Moment& now, MatchTime* time = nullptr, MatchMemory* memory = nullptr);
inline Selection select(const Snapshot& snapshot, const TenantView& tenant, std::string_view key_id,
                        CheckRequest& request, const Moment& now, MatchTime* time = nullptr) {
  Selection selection;
  select(selection, snapshot, tenant, key_id, request, now, time);
  return selection;
}

}  // namespace sluice::policy
