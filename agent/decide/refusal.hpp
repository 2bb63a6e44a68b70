// Why a check or a lease request is refused.
#pragma once

#include <cstdint>
#include <string_view>

namespace sluice::agent::decide {

struct Refusal {
  enum class Kind : std::uint8_t {
    unauthenticated,    // the API key is missing, malformed, unknown, wrong, revoked or expired
    no_policies,        // for lease requests only: without policies, a check gets the decision no_snapshot
    unknown_plan,       // the tenant has no such plan, or its callers may not choose one
    missing_dimension,  // the request lacks `dimension`, which the counter key needs
    other_tenant,       // the request names a tenant that is not the caller's
    malformed_lease,
    unknown_lease,  // the lease belongs to another tenant
    out_of_memory,  // an allocation failed on the way to the decision; the check may have been charged
  };
  Kind kind = Kind::unauthenticated;
  std::string_view dimension = {};
  std::string_view request_id = {};
};

}  // namespace sluice::agent::decide
