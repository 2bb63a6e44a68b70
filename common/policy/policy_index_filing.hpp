// Files the shapes of an index under their anchors (policy_index.hpp). A shape keeps its anchor until refile_all(),
// even if another of its dimensions becomes rarer.
//
// Thread safety: none; belongs to one PolicyIndex::Change.
#pragma once

#include "common/policy/policy_index.hpp"

namespace sluice::policy {

class PolicyIndex::AnchorFiling {
 public:
  // Starts with the directory of `index`. REQUIRES: the added and removed policies are already counted in index.uses_.
  explicit AnchorFiling(const PolicyIndex& index);

  void add(const SharedShape& shape);
  void remove(const SharedShape& shape);
  void refile_all();

  Directory& directory() { return directory_; }

 private:
  const DimensionRef& rarest_of(const Shape& shape) const;
  // The trie with the anchors for tag.NAME or attr.NAME; nullptr for all other dimensions.
  HashTrie<Anchor>* named(Dimension dimension);
  const Anchor* find(const DimensionRef& dimension);
  void put(Anchor anchor);

  const PolicyIndex& index_;
  Directory directory_;
};

}  // namespace sluice::policy
