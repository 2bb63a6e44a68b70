// Finds settings in a bundle that are allowed, but most likely a mistake.
//
// Thread safety: pure functions.
#pragma once

#include "common/base/error.hpp"
#include "common/domain/bundle.hpp"

namespace sluice::policy {

// One text with everything that determines where and when a policy applies, and how it ranks. Only version and id are
// left out. Two enabled policies with the same text conflict.
std::string competition_key(const Policy& policy);

// The warnings, each with a JSON pointer:
// - two policies apply to the same requests with the same priority, so only version or id decides;
// - all counters of a policy or plan have one hash tag, so they are in one slot, and on one node, of a Redis Cluster.
Faults warnings(const Bundle& bundle);

}  // namespace sluice::policy
