// Finds the policies of one tenant and level (levels.hpp) that may match a request, without scanning all of them.
//
// Tuple space search (Srinivasan, Suri, Varghese: "Packet Classification using Tuple Space Search", SIGCOMM 1999). Each
// combination of a policy's values is one entry. The shape of an entry is its set of dimensions and, for each of them,
// the kind of its value: exact, a prefix of N bytes, or a CIDR block of N bits. An entry is stored under the hash of
// its values and its shape. A look-up computes one hash for each shape, so its cost grows with the number of shapes and
// not with the number of policies. To skip shapes that the request cannot match, each shape is filed under its anchor:
// the one of its dimensions that the fewest policies use. So a request without a tag skips all shapes under that tag.
//
// Different values may have equal hashes, so the caller must still match the policies that a look-up finds.
//
// Value semantics: a copy costs nothing and shares all memory. A change of the index does not affect copies. The cost
// of a change depends on the policies that change and not on the size of the index (policy_index_change.cpp).
// Thread safety: that of HashTrie. A look-up allocates nothing once the caller's vector has grown.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <boost/container/small_vector.hpp>
#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>

#include "common/base/hash_trie.hpp"
#include "common/domain/check_request.hpp"
#include "common/policy/compiled_policy.hpp"

namespace sluice::policy {

// Whether the scope has a dimension that the index can use. The index cannot use org or tenant, nor a dimension for
// which the scope accepts every value ("*").
bool is_indexable(const Scope& scope);

// A policy as the index stores it.
struct IndexEntry {
  std::uint64_t order = 0;  // copy of policy->order, so that sorting does not read the policies' memory
  const CompiledPolicy* policy = nullptr;
};

// Whether `a` precedes `b`. REQUIRES: policies of the same level.
bool precedes(const IndexEntry& a, const IndexEntry& b);

// The policies that the index stores under one hash, in order of precedence. Look-ups return no empty posting.
using Posting = std::span<const IndexEntry>;

class PolicyIndex {
 public:
  using Policies = std::span<const CompiledPolicy* const>;

  // Removes and adds policies. REQUIRES: all policies are of one level. The index contains all `removed` policies, and
  // it contains no `added` policy. The `added` policies live as long as they are in the index or in a copy of it; the
  // `removed` policies live at least until this function returns.
  void change(Policies removed, Policies added);

  bool empty() const { return policies_ == 0; }

  // Appends to `found` all postings with policies that may match. A policy may be in several postings.
  void look_up(const CheckRequest& request, std::vector<Posting>& found) const;

 private:
  enum class Kind : std::uint8_t { exact, prefix, block };
  // What a shape requires of one dimension.
  struct Component {
    DimensionRef dimension;
    Kind kind = Kind::exact;
    std::uint8_t address_bits = 0;  // of a block: 32 or 128
    std::uint16_t length = 0;       // of a prefix in bytes, of a block in bits
    bool operator==(const Component&) const = default;
  };
  using Components = boost::container::small_vector<Component, 1>;
  struct Shape {
    std::uint64_t seed = 0;  // hash of the components; start value for the hashes of the shape's entries
    Components components;
  };
  using SharedShape = std::shared_ptr<const Shape>;
  using Shapes = std::vector<SharedShape>;

  // A dimension that is an anchor, with the shapes that are filed under it.
  struct Anchor {
    Anchor() = default;
    Anchor(DimensionRef its_dimension, std::shared_ptr<const Shapes> its_shapes)
        : list(its_shapes ? std::span(*its_shapes) : std::span<const SharedShape>()),
          shapes(std::move(its_shapes)),
          dimension(std::move(its_dimension)) {}

    std::span<const SharedShape> list;  // the elements of `shapes`, so that a look-up follows one pointer less
    std::shared_ptr<const Shapes> shapes;
    DimensionRef dimension;
    std::uint64_t hash() const { return hash_of_name(dimension.name); }
    bool is_free() const { return !shapes; }
  };
  // Where a look-up starts: the anchors, and the policies that have no indexable dimension.
  struct Directory {
    std::vector<Anchor> anchors;          // dimensions other than tag and attr
    HashTrie<Anchor> tag_anchors;         // tag.NAME
    HashTrie<Anchor> attribute_anchors;   // attr.NAME
    std::vector<IndexEntry> unindexed;    // policies that every look-up returns
    std::size_t refiled_at_policies = 0;  // number of policies when all shapes were last filed again
  };

  // The entries of a slot that has more than one.
  struct Several : boost::intrusive_ref_counter<Several> {
    explicit Several(std::vector<IndexEntry> all) : entries(std::move(all)) {}
    std::vector<IndexEntry> entries;
  };
  // The entries under one hash. Half a cache line; most look-ups read one slot.
  struct Slot {
    std::uint64_t key = 0;
    IndexEntry first;                               // the first entry, stored here to save a pointer
    boost::intrusive_ptr<const Several> several{};  // all entries if there are several; else nullptr
    std::uint64_t hash() const { return key; }
    bool is_free() const { return !first.policy; }
  };
  // How many entries a shape has.
  struct ShapeCount {
    SharedShape shape;
    std::size_t entries = 0;
    std::uint64_t hash() const { return shape->seed; }
    bool is_free() const { return !shape; }
  };
  // How many policies use a dimension. When a shape is filed, its least used dimension becomes its anchor.
  struct Use {
    DimensionRef dimension;
    std::size_t policies = 0;
    std::uint64_t hash() const { return hash_of_dimension(dimension); }
    bool is_free() const { return policies == 0; }
  };
  class Change;
  class AnchorFiling;
  class Values;  // the values of one request

  static std::uint64_t hash_of_name(std::string_view name) { return std::hash<std::string_view>()(name); }
  static std::uint64_t hash_of_dimension(const DimensionRef& dimension);

  // A hash; its slot is being prefetched.
  struct Lookup {
    std::uint64_t key;
    HashTrie<Slot>::Near near;
  };
  void look_up_shapes(std::span<const SharedShape> shapes, Values& values, std::vector<Posting>& found) const;
  static void find(Lookup lookup, std::vector<Posting>& found);

  HashTrie<Slot> slots_;
  std::shared_ptr<const Directory> directory_;  // nullptr while the index is empty
  HashTrie<ShapeCount> shapes_;
  HashTrie<Use> uses_;
  std::size_t policies_ = 0;
};

}  // namespace sluice::policy
