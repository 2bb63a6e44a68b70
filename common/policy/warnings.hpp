// Finds settings in a bundle that are allowed, but most likely a mistake.
#pragma once

#include <cstdint>

#include "common/base/error.hpp"
#include "common/domain/bundle.hpp"

namespace sluice::policy {

// Describes to which requests, when and with which priority a policy applies. Two enabled policies with equal
// descriptions conflict: only version and id would decide between them.
std::string competition_key(const Policy& policy);

// Warns of policies that conflict, of policies and plans whose counters all share one slot of a Redis Cluster, of
// fields of a policy that are in its metadata, of values of scopes and of overrides' identities that look like patterns
// and are none, and of policies, API keys and overrides that have expired. `now_us`: Unix time in µs.
Faults warnings(const Bundle& bundle, std::int64_t now_us);

}  // namespace sluice::policy
