// Compares a bundle with the stored objects, and finds which objects apply must create, update and remove. Locks the
// stored objects that will change, and the plans and policies that created or updated objects refer to.
//
// Thread safety: none; it belongs to its call.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "server/admin/apply_wanted.hpp"

namespace sluice::server::admin {

// The changes of one kind. `update[i]` replaces `before[i]`. `create_index[i]` is the position that `create[i]` had in
// WantedState::of(kind). It is also the position in the bundle's list, except for overrides, because WantedState leaves
// out expired ones.
struct KindChanges {
  std::vector<store::RowDraft> create;
  std::vector<std::size_t> create_index;
  std::vector<store::RowDraft> update;
  std::vector<store::StoredObject> before;
  std::vector<store::StoredObject> remove;
};

// The objects that an apply call will create, update and remove, by kind. The word "plan" here does not mean a plan of
// limits. The global mode is not part of it: see WantedState::setting.
struct ApplyPlan {
  KindChanges& of(Kind kind) { return kinds[static_cast<std::size_t>(kind)]; }
  const KindChanges& of(Kind kind) const { return kinds[static_cast<std::size_t>(kind)]; }

  std::array<KindChanges, kKinds> kinds;
  std::size_t unchanged = 0;  // how many objects are stored already as the bundle has them
};

// `prune` removes objects of the bundle's tenants: for each kind that the bundle has a list of, the objects that are
// not in this list. If the call also names an organization and the bundle has a list of tenants, `prune` removes the
// organization's other tenants with all their objects. It never removes organizations.
//
// Refuses a change that would make a stored object outside of the bundle invalid. Throws ConcurrentChange if another
// call has changed an object since it was read.
ApplyPlan plan_apply(Context& context, const BundleBody& body, WantedState wanted, const ApplyOptions& options);

}  // namespace sluice::server::admin
