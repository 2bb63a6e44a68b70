// The lease id in a decision. It contains all that a release or renewal needs, so any agent can release or renew the
// leases of that decision.
//
// Format: base64url of the version, the tenant and the leases. A lease has three parts: its counter key without the
// head "sl:{<tenant>|", the limit's name, and LeaseRef::member. A member contains 128 random bits, so nobody can guess
// an id. The decoded counter keys belong to the tenant in the id. So the code that calls decode_lease_id() must refuse
// the id if the API key of the request belongs to another tenant (Decider::find_leases).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/limiter/counter_store.hpp"

namespace sluice::limiter {

struct LeaseId {
  std::string tenant;
  std::vector<LeaseRef> leases;  // their counter keys begin with "sl:{<tenant>|"
};

// REQUIRES: 1 to 32 leases, all of this tenant.
std::string encode_lease_id(std::string_view tenant, std::span<const LeaseRef> leases);

// Returns nullopt if encode_lease_id() cannot have written the text.
std::optional<LeaseId> decode_lease_id(std::string_view text);

inline constexpr std::size_t kMaxLeaseId = 16'000;  // characters

}  // namespace sluice::limiter
