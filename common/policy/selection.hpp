// Selects the rulebooks by which a request is judged, or says why there is none. Agents call select() for each check.
//
// Thread safety: pure functions on an immutable snapshot.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <boost/container/static_vector.hpp>

#include "common/domain/check_request.hpp"
#include "common/domain/decision.hpp"
#include "common/policy/snapshot.hpp"

namespace sluice::policy {

// What the outcome of a rulebook means for the decision.
enum class Role : std::uint8_t {
  decides,  // the outcome is the decision
  shadow,   // the outcome is reported, but never enforced
};

struct SelectedRulebook {
  const Rulebook* rulebook = nullptr;
  Role role = Role::decides;
};

struct Selection {
  enum class Kind : std::uint8_t {
    rulebooks,          // the counter store judges by `rulebooks`
    settled,            // `settled` is the answer; no counters are needed
    unknown_plan,       // the tenant has no such plan, or does not allow checks to name a plan
    missing_dimension,  // the counter key needs a dimension that the request lacks
  };
  static constexpr std::size_t kMaxRulebooks = 2;  // a deciding policy and a shadow policy beside it

  // An answer that needs no counters. Its reason is no_policy (the tenant's default applies) or mode_off: the effective
  // mode of the deciding policy or plan, as effective_mode() in match.hpp computes it, is off.
  struct Settled {
    Reason reason = Reason::no_policy;
    bool allowed = true;
  };

  Kind kind = Kind::settled;
  Settled settled;
  // The decision shows the policy and the numbers of the first rulebook. The first rulebook's role is `shadow` if its
  // effective mode is shadow. The list is empty if no policy applies, and for unknown_plan.
  boost::container::static_vector<SelectedRulebook, kMaxRulebooks> rulebooks;
  Mode mode = Mode::enforce;  // the effective mode of the first rulebook
  std::string missing;        // for missing_dimension: the name of the dimension that the request lacks
  CandidateList candidates;   // only if the request asks for an explanation

  const Rulebook* primary() const { return rulebooks.empty() ? nullptr : rulebooks.front().rulebook; }
  bool enforced() const { return !rulebooks.empty() && rulebooks.front().role == Role::decides; }
};

// Sets the dimensions org, tenant and api_key of the request from `tenant` and `key_id`, except where the value is
// empty. Then selects.
Selection select(const Snapshot& snapshot, const TenantView& tenant, std::string_view key_id, CheckRequest& request,
                 std::int64_t now_us);

}  // namespace sluice::policy
