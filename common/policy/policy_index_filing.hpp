// Files the shapes of an index under their anchors (policy_index.hpp). A shape keeps its anchor until refile_all().
#pragma once

#include "common/policy/policy_index.hpp"

namespace sluice::policy {

class PolicyIndex::AnchorFiling {
 public:
  // REQUIRES: index.uses_ already counts the added policies, and no longer the removed ones.
  explicit AnchorFiling(const PolicyIndex& index);

  void add(const SharedShape& shape);
  void remove(const SharedShape& shape);
  void refile_all();

  Directory& directory() { return directory_; }

 private:
  const DimensionRef& rarest_of(const Shape& shape) const;
  // The anchors for tag.NAME or attr.NAME; nullptr for other dimensions.
  HashTrie<Anchor>* named(Dimension dimension);
  const Anchor* find(const DimensionRef& dimension);
  void put(Anchor anchor);

  const PolicyIndex& index_;
  Directory directory_;
};

}  // namespace sluice::policy
