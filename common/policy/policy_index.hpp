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
// Immutable once built; may be read from any thread; a look-up allocates nothing once the caller's vector has grown.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/domain/check_request.hpp"
#include "common/policy/compiled_policy.hpp"

namespace sluice::policy {

// Whether the scope names a dimension that the index can use: any but org and tenant, and not just "*".
bool is_indexable(const Scope& scope);

struct IndexEntry {
  std::uint32_t rank = 0;  // of the policy: kept here, so that only policies that are asked are touched
  const CompiledPolicy* policy = nullptr;
};

// Policies of one tenant that may match, in order of rank; never empty.
using Posting = std::span<const IndexEntry>;

class PolicyIndex {
 public:
  // `policies` in order of rank; they outlive the index.
  void build(std::span<const CompiledPolicy* const> policies);

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
    auto operator<=>(const Component&) const = default;
  };
  using Shape = std::vector<Component>;
  using ShapeIds = std::vector<std::uint32_t>;
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  using ByName = std::unordered_map<std::string, ShapeIds, Hash, std::equal_to<>>;
  struct Anchor {
    Dimension dimension;
    ShapeIds shapes;
  };
  struct Slot {
    std::uint64_t key = 0;
    std::uint32_t count = 0;  // of policies; 0: the slot is free
    std::uint32_t first = 0;  // of several: where they begin in shared_
    IndexEntry only;          // of one: nothing else is fetched to find it
  };
  class Builder;
  class Values;  // of one request

  void ask(const ShapeIds& shapes, Values& values, std::vector<Posting>& found) const;
  void find(std::uint64_t key, std::vector<Posting>& found) const;

  std::vector<Shape> shapes_;
  std::vector<Anchor> anchors_;  // the shapes by their rarest dimension; by name for tags and attributes
  ByName tag_anchors_;
  ByName attribute_anchors_;
  std::vector<Slot> slots_;  // open addressing; a power of two, at most half full
  std::vector<IndexEntry> shared_;
  std::vector<IndexEntry> unindexed_;
};

}  // namespace sluice::policy
