// The lease id a caller gets: it describes itself, so any agent can release or renew the lease.
//
// base64url of: version, tenant, then for each lease the rest of its state key, its limit and its member (which holds
// 128 random bits: whoever does not have the id cannot make it). The tenant in it tells whose it is; the key is built
// from the tenant of the credential, never from the id, so an id can name nothing of another tenant.
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
  std::vector<LeaseRef> leases;  // their state keys begin with "sl:{<tenant>|"
};

// REQUIRES: 1 to 32 leases, all of this tenant.
std::string encode_lease_id(std::string_view tenant, std::span<const LeaseRef> leases);

// Nothing where the text is not exactly what encode_lease_id can give.
std::optional<LeaseId> decode_lease_id(std::string_view text);

inline constexpr std::size_t kMaxLeaseId = 16'000;

}  // namespace sluice::limiter
