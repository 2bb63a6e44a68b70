// Applies a delta to a snapshot, which gives the next snapshot.
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

struct SnapshotDelta {
  std::optional<Mode> mode;  // the new global mode, if it changes
  // New and changed objects, already checked by the reader of bundles. Unchanged objects are allowed. Bundle::mode and
  // Bundle::overrides are ignored.
  Bundle objects;
  std::vector<ObjectId> removed;  // REQUIRES: does not name the platform's settings
};

// The running time depends on the delta and not on the size of `before`, with one exception: if the limits of a plan
// change, the function compiles each policy on that plan again, and visits all policies of the tenant.
//
// The result has no overrides. Errors: the faults of build_snapshot(), and a fault for each object that the delta names
// twice, or removes although `before` has no such object. JSON pointers name objects:
// /policies/shop/orders/match_expr, /removed/plans/shop/pro.
std::expected<std::shared_ptr<const Snapshot>, Faults> next_snapshot(const Snapshot& before, const SnapshotDelta& delta,
                                                                     std::uint64_t revision, std::int64_t now_us,
                                                                     std::string chain);

}  // namespace sluice::policy
