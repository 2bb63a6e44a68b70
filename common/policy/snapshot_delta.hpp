// Applies a delta to a snapshot, which gives the next snapshot.
//
// Thread safety: pure functions; snapshots are immutable.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.hpp"
#include "common/objects/object_id.hpp"
#include "common/policy/snapshot.hpp"

namespace sluice::policy {

// The difference between two snapshots.
struct SnapshotDelta {
  std::optional<Mode> mode;  // the new global mode, if it changes
  // The new and the changed objects, complete and already checked by the reader of bundles. May also contain unchanged
  // objects, for example those that changed ones refer to. Bundle::mode and Bundle::overrides are ignored.
  Bundle objects;
  std::vector<ObjectId> removed;  // REQUIRES: does not name the platform's settings, which always exist
};

// Applies a delta to `before`; the result shares everything that did not change. The cost depends on the delta and not
// on the size of `before`, with one exception: if the limits of a plan change, every policy on that plan is compiled
// again, and all policies of the tenant are visited. The result has no overrides.
//
// Returns all faults: those for which build_snapshot() would refuse the resulting objects, and a fault for each object
// that the delta names twice, or removes although it is not in `before`. JSON pointers name objects and not positions
// in the delta: /policies/shop/orders/match_expr, /keys/k1, /removed/plans/shop/pro.
std::expected<std::shared_ptr<const Snapshot>, Faults> next_snapshot(const Snapshot& before, const SnapshotDelta& delta,
                                                                     std::uint64_t revision, std::int64_t now_us,
                                                                     std::string chain);

}  // namespace sluice::policy
