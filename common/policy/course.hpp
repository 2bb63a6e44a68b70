// What is to be done with a request: who judges it, or why nobody does.
//
// Thread safety: pure functions on an immutable snapshot.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/domain/check_request.hpp"
#include "common/domain/decision.hpp"
#include "common/policy/snapshot.hpp"

namespace sluice::policy {

struct Course {
  enum class Kind : std::uint8_t {
    judge,         // by `deciding`, and beside it by `shadow` where set
    no_policy,     // nothing matches: the tenant's default answers
    mode_off,      // `deciding` is switched off
    unknown_plan,  // no such plan for this tenant, or its callers may not choose
    missing_key,   // a dimension the counter requires is not in the request
  };
  Kind kind = Kind::no_policy;
  const Rulebook* deciding = nullptr;
  const Rulebook* shadow = nullptr;
  Mode mode = Mode::enforce;        // the effective one of `deciding`
  bool deciding_is_shadow = false;  // only shadows match: judged, reported, never enforced
  std::string missing;              // missing_key: the dimension
  CandidateList candidates;         // of an explained request
};

// Fills org, tenant and, where it is not empty, api_key into the request and chooses what judges it.
Course choose_course(const Snapshot& snapshot, const TenantView& tenant, std::string_view key_id, CheckRequest& request,
                     std::int64_t now_us);

}  // namespace sluice::policy
