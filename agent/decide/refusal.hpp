// Why a check or a lease request is refused.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace sluice::agent::decide {

// What is wrong with an API key. An id that exists and one that does not are told apart only to a caller who has the
// secret.
enum class CredentialFault : std::uint8_t {
  missing,
  malformed,   // also a mistyped key, because its checksum does not fit
  wrong_kind,  // an admin token or an agent token
  expired,     // the secret is right
  unknown,     // everything else: no such id, a wrong secret, a revoked key
};

struct Refusal {
  enum class Kind : std::uint8_t {
    unauthenticated,    // see `credential`
    no_policies,        // for lease requests only: without policies, a check gets the decision no_snapshot
    unknown_plan,       // the tenant has no such plan, or its callers may not choose one
    missing_dimension,  // the request lacks `dimension`, which the counter key needs
    other_tenant,       // the request names a tenant that is not the caller's
    malformed_lease,
    unknown_lease,  // the lease belongs to another tenant
    out_of_memory,  // an allocation failed on the way to the decision; the check may have been charged
  };
  Kind kind = Kind::unauthenticated;
  CredentialFault credential = CredentialFault::unknown;  // of `unauthenticated`
  std::string_view dimension = {};
  std::string_view request_id = {};
  std::span<const std::string_view> nearest = {};  // of `unknown_plan`: plans that the caller may have meant
};

}  // namespace sluice::agent::decide
