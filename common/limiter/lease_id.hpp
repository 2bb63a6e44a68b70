// The lease id in a decision. With this id, any agent can release or renew the leases of that decision.
//
// Format: base64url of the version, the tenant and the leases. Counter keys leave out their prefix "sl:{<tenant>|".
// LeaseRef::member contains 128 random bits, so nobody can guess an id.
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
  std::vector<LeaseRef> leases;
};

// REQUIRES: 1 to 32 leases, all of this tenant.
std::string encode_lease_id(std::string_view tenant, std::span<const LeaseRef> leases);

// Returns nullopt if encode_lease_id() cannot have written the text. The caller must check that the API key of the
// request belongs to the tenant.
std::optional<LeaseId> decode_lease_id(std::string_view text);

inline constexpr std::size_t kMaxLeaseId = 16'000;  // characters

}  // namespace sluice::limiter
