// Selects the rulebooks that a request is judged by, or says why there is none.
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

// What a rulebook's outcome means for the decision.
enum class Role : std::uint8_t {
  decides,  // it is the answer
  shadow,   // it is reported and never enforced
};

struct SelectedRulebook {
  const Rulebook* rulebook = nullptr;
  Role role = Role::decides;
};

struct Selection {
  enum class Kind : std::uint8_t {
    rulebooks,          // `rulebooks` judge
    no_policy,          // nothing matches: the tenant's default answers
    mode_off,           // the deciding policy or plan is switched off
    unknown_plan,       // the tenant has no such plan, or its callers may not choose one
    missing_dimension,  // the counter key needs a dimension that the request lacks
  };
  static constexpr std::size_t kMostRulebooks = 2;  // a deciding policy and a shadow policy beside it

  Kind kind = Kind::no_policy;
  // The first one names the decision and gives its numbers. It is a shadow where nothing is enforced. Empty for
  // no_policy and unknown_plan.
  boost::container::static_vector<SelectedRulebook, kMostRulebooks> rulebooks;
  Mode mode = Mode::enforce;  // the effective one of the first rulebook
  std::string missing;        // missing_dimension: its name
  CandidateList candidates;   // of an explained request

  const Rulebook* first() const { return rulebooks.empty() ? nullptr : rulebooks.front().rulebook; }
  bool enforced() const { return !rulebooks.empty() && rulebooks.front().role == Role::decides; }
};

// Fills org, tenant and, where it is not empty, api_key into the request, and selects.
Selection select(const Snapshot& snapshot, const TenantView& tenant, std::string_view key_id, CheckRequest& request,
                 std::int64_t now_us);

}  // namespace sluice::policy
