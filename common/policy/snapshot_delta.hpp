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

// The difference between two snapshots. `objects` has the new and the changed objects, complete and already checked by
// the reader of bundles. It may also contain unchanged objects, for example those that changed ones refer to. Its mode
// and overrides are ignored.
struct SnapshotDelta {
  std::optional<Mode> mode;  // the new global mode, if it changes
  Bundle objects;
  std::vector<ObjectId> removed;  // never the settings
};

// Applies a delta to `before`; the result shares everything that did not change. The cost depends on the delta and not
// on the size of `before`, with one exception: if the limits of a plan change, every policy on it is compiled again,
// and all policies of the tenant are visited. Overrides are not carried over.
//
// Returns all faults if build_snapshot() would refuse the resulting objects, or if the delta does not fit `before`: it
// removes an object that does not exist, or names one twice. JSON pointers name objects and not positions in the delta:
// /policies/shop/orders/match_expr, /keys/k1, /removed/plans/shop/pro.
std::expected<std::shared_ptr<const Snapshot>, Faults> next_snapshot(const Snapshot& before, const SnapshotDelta& delta,
                                                                     std::uint64_t revision, std::int64_t now_us,
                                                                     std::string chain);

}  // namespace sluice::policy
