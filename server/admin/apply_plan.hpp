// What has to change so that the store is as a bundle says. Everything that is going to change is locked, and so is
// what the rules of the changes depend on.
//
// Thread safety: none; it belongs to its call.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "server/admin/apply_wanted.hpp"

namespace sluice::server::admin {

// Of one kind. `update` replaces `before`, one by one.
struct KindChanges {
  std::vector<store::RowDraft> create;
  std::vector<std::size_t> create_index;  // in the bundle's list
  std::vector<store::RowDraft> update;
  std::vector<store::StoredObject> before;
  std::vector<store::StoredObject> remove;
};

struct ApplyPlan {
  KindChanges& of(Kind kind) { return kinds[static_cast<std::size_t>(kind)]; }
  const KindChanges& of(Kind kind) const { return kinds[static_cast<std::size_t>(kind)]; }

  std::array<KindChanges, kKinds> kinds;
  std::size_t unchanged = 0;
};

// With `prune`, what is missing from a list that the bundle has is removed, in the bundle's tenants; and, where the
// call names its organization, the tenants of it that the bundle does not list, with all that is theirs. Organizations
// are never removed, nor what has no list. Refuses what something outside of the bundle depends on. Throws Raced where
// somebody else was quicker.
ApplyPlan plan_apply(Context& context, const BundleBody& body, WantedState wanted, const ApplyOptions& options);

}  // namespace sluice::server::admin
