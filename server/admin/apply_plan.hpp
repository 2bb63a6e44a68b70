// Finds which stored objects must change to equal those of a bundle. Locks the objects that will change and those that
// they refer to.
//
// Thread safety: none; it belongs to its call.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "server/admin/apply_wanted.hpp"

namespace sluice::server::admin {

// The changes of one kind. `update[i]` replaces `before[i]`.
struct KindChanges {
  std::vector<store::RowDraft> create;
  std::vector<std::size_t> create_index;  // in the bundle's list
  std::vector<store::RowDraft> update;
  std::vector<store::StoredObject> before;
  std::vector<store::StoredObject> remove;
};

// All changes that apply will make. (Not a plan of limits.)
struct ApplyPlan {
  KindChanges& of(Kind kind) { return kinds[static_cast<std::size_t>(kind)]; }
  const KindChanges& of(Kind kind) const { return kinds[static_cast<std::size_t>(kind)]; }

  std::array<KindChanges, kKinds> kinds;
  std::size_t unchanged = 0;
};

// With `prune`, objects of the bundle's tenants that the bundle does not list are removed; only of kinds that the
// bundle has a list of. If the call also names an organization, its tenants that the bundle does not list are removed
// with all their objects. Organizations are never removed. Refuses a change that would break an object outside of the
// bundle. Throws ConcurrentChange after a concurrent change.
ApplyPlan plan_apply(Context& context, const BundleBody& body, WantedState wanted, const ApplyOptions& options);

}  // namespace sluice::server::admin
