// What is allowed in a bundle, and most likely not meant.
#pragma once

#include "common/base/error.hpp"
#include "common/domain/bundle.hpp"

namespace sluice::policy {

// To whom a policy applies and how it ranks, as one text: two enabled ones of the same place conflict.
std::string place_of(const Policy& policy);

// Each with the JSON pointer of what it is about:
// - two policies that apply to the same requests with the same priority, so that only version or id decides;
// - counters of a whole tenant under one hash tag: one slot, and so one node, of a Redis Cluster.
Faults warnings(const Bundle& bundle);

}  // namespace sluice::policy
