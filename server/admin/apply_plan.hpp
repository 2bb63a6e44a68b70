// Compares a bundle with the stored objects, and finds what POST /v1/admin/apply must create, update and remove. Locks
// the stored objects that will change, and the plans and policies that created or updated objects refer to.
//
// Thread safety: none; an ApplyPlan belongs to one call.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "server/admin/apply_wanted.hpp"

namespace sluice::server::admin {

// The changes to objects of one kind. `update[i]` replaces `before[i]`. `create_index[i]` is the position that
// `create[i]` had in WantedState::of(kind). That is also the object's position in the bundle's list, except for
// overrides: WantedState leaves out expired overrides.
struct KindChanges {
  std::vector<store::RowDraft> create;
  std::vector<std::size_t> create_index;
  std::vector<store::RowDraft> update;
  std::vector<store::StoredObject> before;
  std::vector<store::StoredObject> remove;
};

// The objects that the call will create, update and remove, by kind. (Not a plan of limits.) A change of the global
// mode is not listed here: see WantedState::setting.
struct ApplyPlan {
  KindChanges& of(Kind kind) { return kinds[static_cast<std::size_t>(kind)]; }
  const KindChanges& of(Kind kind) const { return kinds[static_cast<std::size_t>(kind)]; }

  std::array<KindChanges, kKinds> kinds;
  std::size_t unchanged = 0;  // number of objects in the bundle that are equal to the stored ones
};

// ApplyOptions::prune removes objects of the bundle's tenants: for each kind that has a list in the bundle, the objects
// that this list does not contain. If the call also names an organization and the bundle has a list of tenants, `prune`
// removes the organization's other tenants with all their objects. It never removes organizations.
//
// Refuses a change that would make a stored object outside of the bundle invalid. Throws ConcurrentChange if another
// call has changed an object since it was read.
ApplyPlan plan_apply(Context& context, const BundleBody& body, WantedState wanted, const ApplyOptions& options);

}  // namespace sluice::server::admin
