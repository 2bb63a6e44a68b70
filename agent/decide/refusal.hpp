// Why a front end gets no decision. Each front end has one table that says how its protocol answers these.
#pragma once

#include <cstdint>
#include <string_view>

namespace sluice::agent::decide {

struct Refusal {
  enum class Kind : std::uint8_t {
    unauthenticated,    // the API key is missing, malformed, unknown, wrong, revoked or expired
    no_policies,        // leases only: a check is answered with a decision (no_snapshot) instead
    unknown_plan,       // the tenant has no such plan, or its callers may not choose one
    missing_dimension,  // the counter key needs `dimension`, which the request lacks
    malformed_lease,    // not the id of a lease
    unknown_lease,      // a lease of another tenant
  };
  Kind kind = Kind::unauthenticated;
  std::string_view dimension = {};
  std::string_view request_id = {};  // of the refused check
};

}  // namespace sluice::agent::decide
