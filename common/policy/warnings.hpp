// Finds settings in a bundle that are allowed, but most likely a mistake.
#pragma once

#include "common/base/error.hpp"
#include "common/domain/bundle.hpp"

namespace sluice::policy {

// Describes to which requests and when a policy applies, and how it ranks (without version and id). Two enabled
// policies with equal descriptions conflict.
std::string competition_key(const Policy& policy);

// Warns of policies that conflict, and of policies and plans whose counters all share one slot of a Redis Cluster.
Faults warnings(const Bundle& bundle);

}  // namespace sluice::policy
