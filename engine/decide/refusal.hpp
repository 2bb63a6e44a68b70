// Why a check or a lease request is refused.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "common/domain/credential.hpp"

namespace sluice::decide {

// Why a check cannot have a limit that it brings.
struct LimitFault {
  enum class Kind : std::uint8_t {
    unknown,    // the check is not judged by a limit of this name
    not_open,   // the plan has no max_override for the limit
    too_large,  // the plan's max_override is `most`
  };
  Kind kind = Kind::unknown;
  std::string_view name;
  std::int64_t most = 0;
  std::vector<std::string_view> nearest = {};  // of `unknown`: limits that the caller may have meant
};

struct Refusal {
  enum class Kind : std::uint8_t {
    unauthenticated,    // see `credential`
    no_policies,        // for lease requests only: without policies, a check gets the decision no_snapshot
    unknown_plan,       // the tenant has no such plan, or its callers may not choose one
    missing_dimension,  // the request lacks `dimension`, which the counter key needs
    other_tenant,       // the request names a tenant that is not the caller's
    may_not_override,   // the check brings limits, but its API key may not
    limits,             // the check brings limits that it cannot have: see `limit_faults`
    malformed_lease,
    unknown_lease,  // the lease belongs to another tenant
    out_of_memory,  // an allocation failed on the way to the decision; the check may have been charged
  };
  Kind kind = Kind::unauthenticated;
  CredentialFault credential = CredentialFault::unknown;  // of `unauthenticated`
  std::string_view dimension = {};
  std::string_view counted_by =
      {};                  // of `missing_dimension`: the id of the policy, or of the plan that the check names
  bool by_policy = false;  // counted_by is a policy
  std::string_view request_id = {};
  std::span<const std::string_view> nearest = {};  // of `unknown_plan`: plans that the caller may have meant
  std::span<const LimitFault> limit_faults = {};
};

}  // namespace sluice::decide
