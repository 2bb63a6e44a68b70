// From one snapshot to the next.
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
#include "common/domain/object_kind.hpp"
#include "common/policy/snapshot.hpp"

namespace sluice::policy {

using sluice::ObjectKind;

// "policies": how the bundle's list is called; "" of the settings, which are none.
std::string_view list_name(ObjectKind kind);

struct ObjectName {  // of a tenant's, an organization's, …; settings are not removed
  ObjectKind kind = ObjectKind::organization;
  std::string tenant_id;  // of plans, policies and keys; else ""
  std::string id;
  bool operator==(const ObjectName&) const = default;
};

// `objects`: those that are new, and those that changed, whole; each of sound form, as the reader of bundles takes it.
// That others which did not change are among them (what the changed ones refer to) does no harm. Mode and overrides
// are not read.
struct SnapshotDelta {
  std::optional<Mode> mode;  // of the whole, where it changes
  Bundle objects;
  std::vector<ObjectName> removed;
};

// `before` with the delta applied, sharing with it all that stays. Costs what the delta says, whatever `before` holds,
// but for a plan of which the limits change: every policy on it is compiled anew (and all of the tenant's are looked
// at). Overrides are not carried over.
//
// Faults, all of them, and no snapshot where the result would not be one that build_snapshot() makes of the same
// objects; also where the delta does not fit `before`: it removes what is not there, or names an object twice.
// Pointers name objects, not places in the delta: /policies/shop/orders/match_expr, /keys/k1, /removed/plans/shop/pro.
std::expected<std::shared_ptr<const Snapshot>, Faults> next_snapshot(const Snapshot& before, const SnapshotDelta& delta,
                                                                     std::uint64_t revision, std::int64_t now_us,
                                                                     std::string chain);

}  // namespace sluice::policy
