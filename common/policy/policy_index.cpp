// Look-ups in the index. policy_index.hpp explains shapes and anchors.
#include "common/policy/policy_index.hpp"

#include <algorithm>

#include "common/policy/policy_index_hash.hpp"
#include "common/policy/precedence.hpp"

namespace sluice::policy {

using index_hash::hash_of;
using index_hash::mix;

bool precedes(const IndexEntry& a, const IndexEntry& b) {
  if (a.order != b.order) return a.order < b.order;
  return a.policy != b.policy && compare(*a.policy, *b.policy).first;
}

class PolicyIndex::Values {
 public:
  explicit Values(const CheckRequest& request) : request_(request) {}

  // Mixes the request's value into the hash `key`. Returns false if the request has no value for the component.
  bool add_to(std::uint64_t& key, const Component& component) {
    const Value* value = request_.find(component.dimension);
    if (!value) return false;
    switch (component.kind) {
      case Kind::exact:
        key = mix(key, hash_of(value->text));
        return true;
      case Kind::prefix:
        if (value->text.size() < component.length) return false;
        key = mix(key, hash_of(value->text.substr(0, component.length)));
        return true;
      case Kind::block:
        if (source(*value).bits != component.size) return false;
        key = mix(key, hash_of(block_of(address_, static_cast<std::uint8_t>(component.length))));
        return true;
      case Kind::pattern: {
        const auto hash = index_hash::hash_of_pattern(value->text, component.size, component.length);
        key = mix(key, hash.value_or(0));
        return hash.has_value();
      }
    }
    return false;
  }

 private:
  // Parses source_ip once for all components. The result has 0 bits if `value` is not an address.
  const IpAddress& source(const Value& value) {
    if (!parsed_) address_ = parse_ip(value.text).value_or(IpAddress{});
    parsed_ = true;
    return address_;
  }

  const CheckRequest& request_;
  IpAddress address_;
  bool parsed_ = false;
};

void PolicyIndex::find(Lookup lookup, std::vector<Posting>& found) {
  const Slot* slot = HashTrie<Slot>::find_near(lookup.near, lookup.key, [](const Slot&) { return true; });
  if (!slot) return;
  __builtin_prefetch(slot->first.policy);
  found.push_back(slot->several ? Posting(slot->several->entries) : Posting(&slot->first, 1));
}

// Handles a few keys at a time, so that their slots are prefetched in parallel.
void PolicyIndex::look_up_shapes(std::span<const SharedShape> shapes, Values& values,
                                 std::vector<Posting>& found) const {
  std::array<Lookup, 16> lookups;
  std::size_t waiting = 0;
  auto find_all = [&] {
    for (std::size_t i = 0; i < waiting; ++i) find(lookups[i], found);
    waiting = 0;
  };
  for (const SharedShape& shape : shapes) {
    std::uint64_t key = shape->seed;
    if (!std::ranges::all_of(shape->components, [&](const Component& part) { return values.add_to(key, part); })) {
      continue;
    }
    lookups[waiting++] = {key, slots_.near(key)};
    if (waiting == lookups.size()) find_all();
  }
  find_all();
}

void PolicyIndex::look_up(const CheckRequest& request, std::vector<Posting>& found) const {
  if (!directory_) return;
  const Directory& directory = *directory_;
  if (!directory.unindexed.empty()) found.emplace_back(directory.unindexed);
  Values values(request);
  for (const Anchor& anchor : directory.anchors) {
    const auto dimension = static_cast<std::size_t>(anchor.dimension.dimension);
    if (request.dimensions[dimension].present) look_up_shapes(anchor.list, values, found);
  }
  auto look_up_named = [&](const HashTrie<Anchor>& anchors, const std::vector<NamedValue>& named) {
    for (const NamedValue& value : named) {
      const Anchor* anchor =
          anchors.find(hash_of_name(value.name), [&](const Anchor& each) { return each.dimension.name == value.name; });
      if (anchor) look_up_shapes(anchor->list, values, found);
    }
  };
  if (!directory.tag_anchors.empty()) look_up_named(directory.tag_anchors, request.tags);
  if (!directory.attribute_anchors.empty()) look_up_named(directory.attribute_anchors, request.attributes);
}

}  // namespace sluice::policy
