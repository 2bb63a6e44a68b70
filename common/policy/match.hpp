// Which policies judge a request.
#pragma once

#include "common/policy/snapshot.hpp"

namespace sluice::policy {

// off beats shadow beats enforce, of the three levels.
Mode effective_mode(Mode global, Mode tenant, Mode own);

// Whether the policy applies to the request at this time: enabled, valid, in scope.
bool applies(const Policy& policy, const CheckRequest& request, std::int64_t now_us);

struct Match {
  const CompiledPolicy* decides = nullptr;  // the best that is not a shadow; its mode may be off
  const CompiledPolicy* shadow = nullptr;   // the best shadow, where it ranks above `decides`
};

// REQUIRES: org, tenant and api_key filled into the request.
Match match(const Snapshot& snapshot, const TenantView& tenant, const CheckRequest& request, std::int64_t now_us);

}  // namespace sluice::policy
