// The overrides of a bundle by counter key.
//
// Thread safety: pure function.
#pragma once

#include <vector>

#include "common/policy/snapshot.hpp"

namespace sluice::policy {

// Those that end after the snapshot was made. REQUIRES: the snapshot is of this bundle.
std::vector<KeyOverrides> compile_overrides(const Bundle& bundle, const Snapshot& snapshot);

}  // namespace sluice::policy
