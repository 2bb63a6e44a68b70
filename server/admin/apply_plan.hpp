// Finds and locks what POST /v1/admin/apply must create, update and remove. Also locks the plans and policies that
// created or updated objects refer to.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "server/admin/apply_wanted.hpp"

namespace sluice::server::admin {

// The changes to objects of one kind. `update[i]` replaces `before[i]`. `create_index[i]` is the index that
// `create[i]` had in WantedState::of(kind). Except for overrides, this is also its index in the bundle's list.
struct KindChanges {
  std::vector<store::RowDraft> create;
  std::vector<std::size_t> create_index;
  std::vector<store::RowDraft> update;
  std::vector<store::StoredObject> before;
  std::vector<store::StoredObject> remove;
};

// The objects that the call will create, update and remove. (Not a plan of limits.) WantedState::setting has the change
// of the global mode.
struct ApplyPlan {
  KindChanges& of(Kind kind) { return kinds[static_cast<std::size_t>(kind)]; }
  const KindChanges& of(Kind kind) const { return kinds[static_cast<std::size_t>(kind)]; }

  std::array<KindChanges, kKinds> kinds;
  std::size_t unchanged = 0;
};

// ApplyOptions::prune removes each object of the bundle's tenants that is missing in the bundle's list of its kind.
// Objects of kinds without a list stay. If the call names an organization and the bundle has a list of tenants,
// `prune` also removes the organization's other tenants with all their objects. Organizations are never removed.
//
// Refuses a change that would invalidate a stored object outside of the bundle. Throws ConcurrentChange.
ApplyPlan plan_apply(Context& context, const BundleBody& body, WantedState wanted, const ApplyOptions& options);

}  // namespace sluice::server::admin
