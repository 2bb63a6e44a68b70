// Compiles the overrides of a bundle and groups them by counter key.
#pragma once

#include <vector>

#include "common/policy/snapshot.hpp"

namespace sluice::policy {

// Leaves out overrides that expired before the snapshot was built. REQUIRES: the snapshot was built from this bundle.
std::vector<KeyOverrides> compile_overrides(const Bundle& bundle, const Snapshot& snapshot);

}  // namespace sluice::policy
