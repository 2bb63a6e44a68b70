// Finds a tenant's policies for a request without asking those that are about something else.
//
// Tuple space search (Srinivasan, Suri, Varghese: "Packet Classification using Tuple Space Search", SIGCOMM 1999):
// every combination of a policy's values is an entry under one hash of all of them, in the space of its shape: which
// dimensions, each exact, a prefix or a block of which length. A look-up asks each shape once, so its cost grows with
// the shapes that the request's dimensions can satisfy, not with the policies. Each shape is filed under its rarest
// dimension: thousands of shapes over tags that the request does not have are not looked at.
//
// Equal hashes of different values are possible: what is found still has to be matched.
//
// A value: a copy shares everything and costs nothing, changing one leaves the other as it was, and the change costs
// what it says and not what the index holds (policy_index_change.cpp). Thread safety: as HashTrie; a look-up allocates
// nothing once the caller's vector has grown.
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

// Whether the scope names a dimension that the index can use: any but org and tenant, and not just "*".
bool is_indexable(const Scope& scope);

struct IndexEntry {
  std::uint64_t order = 0;  // of the policy: kept here, so that only policies that are asked are touched
  const CompiledPolicy* policy = nullptr;
};

// Of one level: which is asked first.
bool asked_before(const IndexEntry& a, const IndexEntry& b);

// Policies of one level that may match, in order of precedence; never empty.
using Posting = std::span<const IndexEntry>;

class PolicyIndex {
 public:
  using Policies = std::span<const CompiledPolicy* const>;

  // Takes out and puts in. What is in outlives the index; what is taken out outlives the call.
  // REQUIRES: all are of one level; none of `added` is in, all of `removed` are.
  void change(Policies removed, Policies added);

  bool empty() const { return policies_ == 0; }

  // Appends every posting with policies that may match. A policy may be in several of them.
  void look_up(const CheckRequest& request, std::vector<Posting>& found) const;

 private:
  enum class Kind : std::uint8_t { exact, prefix, block };
  // What a shape asks of one dimension. Two components with equal fields are one.
  struct Component {
    DimensionRef dimension;
    Kind kind = Kind::exact;
    std::uint8_t address_bits = 0;  // block
    std::uint16_t length = 0;       // of the prefix in bytes, of the block in bits
    bool operator==(const Component&) const = default;
  };
  using Components = boost::container::small_vector<Component, 1>;
  struct Shape {
    std::uint64_t seed = 0;  // of the keys of its entries
    Components components;
  };
  using SharedShape = std::shared_ptr<const Shape>;
  using Shapes = std::vector<SharedShape>;

  // The shapes by their rarest dimension; by name for tags and attributes.
  struct Anchor {
    Anchor() = default;
    Anchor(DimensionRef its_dimension, std::shared_ptr<const Shapes> its_shapes)
        : list(its_shapes ? std::span(*its_shapes) : std::span<const SharedShape>()),
          shapes(std::move(its_shapes)),
          dimension(std::move(its_dimension)) {}

    std::span<const SharedShape> list;  // of `shapes`: one step less to them
    std::shared_ptr<const Shapes> shapes;
    DimensionRef dimension;
    std::uint64_t hash() const { return hash_of_name(dimension.name); }
    bool is_free() const { return !shapes; }
  };
  struct Directory {
    std::vector<Anchor> anchors;
    HashTrie<Anchor> tag_anchors;
    HashTrie<Anchor> attribute_anchors;
    std::vector<IndexEntry> unindexed;
    std::size_t filed_at = 0;  // how many policies there were when all shapes were filed
  };

  struct Several : boost::intrusive_ref_counter<Several> {
    explicit Several(std::vector<IndexEntry> all) : entries(std::move(all)) {}
    std::vector<IndexEntry> entries;
  };
  // Half a cache line: most look-ups read one.
  struct Slot {
    std::uint64_t key = 0;
    IndexEntry first;                               // of one: nothing else is fetched to find it
    boost::intrusive_ptr<const Several> several{};  // null: there is one
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
  // In how many policies a dimension is named.
  struct Use {
    DimensionRef dimension;
    std::size_t policies = 0;
    std::uint64_t hash() const { return hash_of_dimension(dimension); }
    bool is_free() const { return policies == 0; }
  };
  class Change;
  class Filing;
  class Values;  // of one request

  static std::uint64_t hash_of_name(std::string_view name) { return std::hash<std::string_view>()(name); }
  static std::uint64_t hash_of_dimension(const DimensionRef& dimension);

  // A key on its way: its slot is being fetched.
  struct Asked {
    std::uint64_t key;
    HashTrie<Slot>::Near near;
  };
  void ask(std::span<const SharedShape> shapes, Values& values, std::vector<Posting>& found) const;
  static void find(Asked asked, std::vector<Posting>& found);

  HashTrie<Slot> slots_;
  std::shared_ptr<const Directory> directory_;  // null where nothing is in
  HashTrie<ShapeCount> shapes_;
  HashTrie<Use> uses_;
  std::size_t policies_ = 0;
};

}  // namespace sluice::policy
