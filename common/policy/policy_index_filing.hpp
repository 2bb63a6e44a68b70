// Files the shapes of an index under their anchors. When a shape is filed, its anchor is the rarest of its dimensions:
// the one that the fewest policies use.
//
// Thread safety: none; belongs to one change.
#pragma once

#include "common/policy/policy_index.hpp"

namespace sluice::policy {

class PolicyIndex::AnchorFiling {
 public:
  // Starts with the directory of `index`. REQUIRES: the uses in `index` already include the change.
  explicit AnchorFiling(const PolicyIndex& index);

  void add(const SharedShape& shape);
  void remove(const SharedShape& shape);
  void refile_all();

  Directory& directory() { return directory_; }

 private:
  const DimensionRef& rarest_of(const Shape& shape) const;
  HashTrie<Anchor>* named(Dimension dimension);
  const Anchor* find(const DimensionRef& dimension);
  void put(Anchor anchor);

  const PolicyIndex& index_;
  Directory directory_;
};

}  // namespace sluice::policy
