#include "common/policy/policy_index_filing.hpp"

#include <algorithm>
#include <utility>

#include "common/policy/policy_index_hash.hpp"

namespace sluice::policy {
namespace {

// The place of one dimension in the list `filed` of refile_all(). `index` counts from 1; 0 marks a free trie slot.
struct ListPlace {
  std::uint64_t its_hash = 0;
  std::size_t index = 0;
  std::uint64_t hash() const { return its_hash; }
  bool is_free() const { return index == 0; }
};

}  // namespace

std::uint64_t PolicyIndex::hash_of_dimension(const DimensionRef& dimension) {
  return index_hash::mix(static_cast<std::uint64_t>(dimension.dimension), index_hash::hash_of(dimension.name));
}

PolicyIndex::AnchorFiling::AnchorFiling(const PolicyIndex& index) : index_(index) {
  if (index.directory_) directory_ = *index.directory_;
}

void PolicyIndex::AnchorFiling::add(const SharedShape& shape) {
  const DimensionRef& rarest = rarest_of(*shape);
  const Anchor* before = find(rarest);
  auto shapes = before ? std::make_shared<Shapes>(*before->shapes) : std::make_shared<Shapes>();
  shapes->push_back(shape);
  put({rarest, std::move(shapes)});
}

// Tries all dimensions of the shape: it is filed under the one that the fewest policies used when it was filed.
void PolicyIndex::AnchorFiling::remove(const SharedShape& shape) {
  for (const Component& part : shape->components) {
    const Anchor* before = find(part.dimension);
    if (!before || std::ranges::find(*before->shapes, shape) == before->shapes->end()) continue;
    auto shapes = std::make_shared<Shapes>(*before->shapes);
    std::erase(*shapes, shape);
    if (shapes->empty()) shapes.reset();
    return put({part.dimension, std::move(shapes)});
  }
}

void PolicyIndex::AnchorFiling::refile_all() {
  directory_.anchors.clear();
  directory_.tag_anchors = {};
  directory_.attribute_anchors = {};
  std::vector<std::pair<DimensionRef, Shapes>> filed;
  HashTrie<ListPlace> places;
  index_.shapes_.for_each([&](const ShapeCount& each) {
    const DimensionRef& rarest = rarest_of(*each.shape);
    const std::uint64_t hash = hash_of_dimension(rarest);
    auto is = [&](const ListPlace& place) { return filed[place.index - 1].first == rarest; };
    if (const ListPlace* place = places.find(hash, is)) return filed[place->index - 1].second.push_back(each.shape);
    filed.emplace_back(rarest, Shapes{each.shape});
    places.put({hash, filed.size()}, is);
  });
  for (auto& [dimension, shapes] : filed) put({dimension, std::make_shared<const Shapes>(std::move(shapes))});
  directory_.refiled_at_policies = index_.policies_;
}

const DimensionRef& PolicyIndex::AnchorFiling::rarest_of(const Shape& shape) const {
  auto policies = [this](const Component& part) {
    const Use* use = index_.uses_.find(hash_of_dimension(part.dimension),
                                       [&](const Use& each) { return each.dimension == part.dimension; });
    return use ? use->policies : 0;
  };
  return std::ranges::min_element(shape.components, {}, policies)->dimension;
}

HashTrie<PolicyIndex::Anchor>* PolicyIndex::AnchorFiling::named(Dimension dimension) {
  if (dimension == Dimension::tag) return &directory_.tag_anchors;
  return dimension == Dimension::attr ? &directory_.attribute_anchors : nullptr;
}

const PolicyIndex::Anchor* PolicyIndex::AnchorFiling::find(const DimensionRef& dimension) {
  if (const auto* anchors = named(dimension.dimension)) {
    return anchors->find(hash_of_name(dimension.name),
                         [&](const Anchor& each) { return each.dimension.name == dimension.name; });
  }
  auto found = std::ranges::find(directory_.anchors, dimension, &Anchor::dimension);
  return found == directory_.anchors.end() ? nullptr : &*found;
}

// Replaces the anchor of the same dimension, or removes it if `anchor` has no shapes.
void PolicyIndex::AnchorFiling::put(Anchor anchor) {
  if (auto* anchors = named(anchor.dimension.dimension)) {
    auto is = [name = anchor.dimension.name](const Anchor& each) { return each.dimension.name == name; };
    if (anchor.shapes) {
      anchors->put(std::move(anchor), is);
    } else {
      anchors->erase(anchor.hash(), is);
    }
    return;
  }
  std::erase_if(directory_.anchors, [&](const Anchor& each) { return each.dimension == anchor.dimension; });
  if (anchor.shapes) directory_.anchors.push_back(std::move(anchor));
}

}  // namespace sluice::policy
