// Finds the policies of one tenant and level (levels.hpp) that may match a request.
//
// Tuple space search (Srinivasan, Suri, Varghese: "Packet Classification using Tuple Space Search", SIGCOMM 1999). Each
// combination of a policy's values is one entry. The shape of an entry is its set of dimensions and, for each of them,
// the kind of its value: exact, a prefix of N bytes, a CIDR block of N bits, or a pattern with certain literal segments
// of N segments. A look-up computes one hash for each
// shape, however many policies there are. Each shape is filed under its anchor: the one of its dimensions that the
// fewest policies use. A request without that dimension skips the shape.
//
// Different values may have equal hashes, so the caller must still match the policies that a look-up finds.
//
// Copies share all memory, and changes do not affect copies. The cost of a change does not depend on the size of the
// index. A look-up allocates nothing once the caller's vector has grown. Thread safety: that of HashTrie.
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
#include "common/base/keyed_hash.hpp"
#include "common/domain/check_request.hpp"
#include "common/policy/compiled_policy.hpp"

namespace sluice::policy {

// Whether the index can use a dimension of the scope. It cannot use org, tenant, or a dimension with the value "*".
bool is_indexable(const Scope& scope);

struct IndexEntry {
  std::uint64_t order = 0;  // copy of policy->order, so that sorting does not read the policies' memory
  const CompiledPolicy* policy = nullptr;
};

// REQUIRES: policies of one level.
bool precedes(const IndexEntry& a, const IndexEntry& b);

// The policies under one hash, in order of precedence.
using Posting = std::span<const IndexEntry>;

class PolicyIndex {
 public:
  using Policies = std::span<const CompiledPolicy* const>;

  // REQUIRES: all policies are of one level; the index contains all `removed` policies and no `added` policy. Policies
  // live as long as the index or a copy contains them; `removed` policies live until this function returns.
  void change(Policies removed, Policies added);

  bool empty() const { return policies_ == 0; }
  // How many different hashes a look-up can find, and policies that every look-up returns.
  std::size_t entries() const { return slots_.size() + (directory_ ? directory_->unindexed.size() : 0); }

  // Appends all postings with policies that may match. A policy may be in several postings.
  void look_up(const CheckRequest& request, std::vector<Posting>& found) const;

 private:
  enum class Kind : std::uint8_t { exact, prefix, block, pattern };
  // What a shape requires of one dimension.
  struct Component {
    DimensionRef dimension;
    Kind kind = Kind::exact;
    std::uint8_t size = 0;     // of a block: the bits of its address, 32 or 128; of a pattern: its segments
    std::uint16_t length = 0;  // of a prefix in bytes, of a block in bits; of a pattern: its literal segments
    bool operator==(const Component&) const = default;
  };
  using Components = boost::container::small_vector<Component, 1>;
  struct Shape {
    std::uint64_t seed = 0;  // hash of the components; the hash of each entry starts with this value
    Components components;
  };
  using SharedShape = std::shared_ptr<const Shape>;
  using Shapes = std::vector<SharedShape>;

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
  // Where a look-up starts.
  struct Directory {
    std::vector<Anchor> anchors;  // dimensions other than tag and attr
    HashTrie<Anchor> tag_anchors;
    HashTrie<Anchor> attribute_anchors;
    std::vector<IndexEntry> unindexed;    // policies that every look-up returns
    std::size_t refiled_at_policies = 0;  // number of policies when all shapes were last filed
  };

  struct Several : boost::intrusive_ref_counter<Several> {
    explicit Several(std::vector<IndexEntry> all) : entries(std::move(all)) {}
    std::vector<IndexEntry> entries;
  };
  // The entries under one hash. Fills half a cache line.
  struct Slot {
    std::uint64_t key = 0;
    IndexEntry first;                               // stored here, so that a look-up follows one pointer less
    boost::intrusive_ptr<const Several> several{};  // all entries, if there are several
    std::uint64_t hash() const { return key; }
    bool is_free() const { return !first.policy; }
  };
  struct ShapeCount {
    SharedShape shape;
    std::size_t entries = 0;
    std::uint64_t hash() const { return shape->seed; }
    bool is_free() const { return !shape; }
  };
  struct Use {
    DimensionRef dimension;
    std::size_t policies = 0;
    std::uint64_t hash() const { return hash_of_dimension(dimension); }
    bool is_free() const { return policies == 0; }
  };
  class Change;
  class AnchorFiling;
  class Values;  // the values of one request

  static std::uint64_t hash_of_name(std::string_view name) { return hash_text(name); }
  static std::uint64_t hash_of_dimension(const DimensionRef& dimension);

  // The slot of `key` is being prefetched.
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
