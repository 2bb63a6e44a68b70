#include "common/policy/policy_index.hpp"

#include <algorithm>
#include <bit>
#include <map>

namespace sluice::policy {
namespace {

// Halves of a 128-bit product folded: every bit of both factors reaches every bit of the result.
std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  constexpr std::uint64_t kA = 0x9E3779B97F4A7C15;
  constexpr std::uint64_t kB = 0xD1B54A32D192ED03;
  auto product = static_cast<unsigned __int128>(a ^ kA) * (b ^ kB);
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

std::uint64_t hash_of(std::string_view text) { return std::hash<std::string_view>()(text); }

std::uint64_t hash_of(const IpBlock& block) {
  const auto halves = std::bit_cast<std::array<std::uint64_t, 2>>(block.base.bytes);
  return mix(halves[0], halves[1]);
}

std::uint64_t seed_of(std::size_t shape) { return mix(shape + 1, 0); }

bool is_indexable(const Term& term) {
  bool owner = term.dimension.dimension == Dimension::org || term.dimension.dimension == Dimension::tenant;
  return !owner && term.discriminates();
}

}  // namespace

bool is_indexable(const Scope& scope) {
  return std::ranges::any_of(scope, [](const Term& term) { return is_indexable(term); });
}

// Turns policies into entries by key, then the entries into the table.
class PolicyIndex::Builder {
 public:
  explicit Builder(PolicyIndex& index) : index_(index) {}

  void build(std::span<const CompiledPolicy* const> policies) {
    for (const CompiledPolicy* policy : policies) {
      for (const Term& term : policy->scope) ++uses_[term.dimension];
    }
    for (const CompiledPolicy* policy : policies) add(*policy);
    fill_table();
  }

 private:
  struct Key {
    std::uint64_t hash;
    IndexEntry entry;
  };
  // One value of a term, as a look-up sees it.
  struct Choice {
    Component component;
    std::uint64_t hash;
  };
  using Choices = std::vector<Choice>;  // of one term

  static Choices choices_of(const Term& term) {
    Choices choices;
    for (const std::string& text : term.exact) choices.push_back({{term.dimension, Kind::exact}, hash_of(text)});
    for (const std::string& text : term.prefixes) {
      choices.push_back({{term.dimension, Kind::prefix, 0, static_cast<std::uint16_t>(text.size())}, hash_of(text)});
    }
    for (const IpBlock& block : term.blocks) {
      choices.push_back({{term.dimension, Kind::block, block.base.bits, block.prefix}, hash_of(block)});
    }
    return choices;
  }

  void add(const CompiledPolicy& policy) {
    std::vector<Choices> terms = keyed_terms(policy.scope);
    if (terms.empty()) {
      index_.unindexed_.push_back({policy.rank, &policy});
      return;
    }
    Shape shape;
    std::vector<std::uint64_t> hashes;
    add_combinations(terms, shape, hashes, policy);
  }

  // The terms that make the key, those with the most values first. Lists multiply: a term that would make many more
  // entries than the policy has values is left out of the key, and only matched.
  static std::vector<Choices> keyed_terms(const Scope& scope) {
    constexpr std::size_t kFewEntries = 64;
    std::vector<const Term*> by_size;
    for (const Term& term : scope) {
      if (is_indexable(term)) by_size.push_back(&term);
    }
    std::ranges::sort(by_size, std::greater<>(), [](const Term* term) { return std::pair(term->value_count(), term); });
    std::vector<Choices> terms;
    std::size_t entries = 1;
    for (const Term* term : by_size) {
      std::size_t most = std::max(kFewEntries, 4 * by_size.front()->value_count());
      if (entries * term->value_count() > most) continue;
      entries *= term->value_count();
      terms.push_back(choices_of(*term));
    }
    std::ranges::sort(terms, {}, [](const Choices& choices) { return choices.front().component.dimension; });
    return terms;
  }

  void add_combinations(const std::vector<Choices>& terms, Shape& shape, std::vector<std::uint64_t>& hashes,
                        const CompiledPolicy& policy) {
    if (shape.size() == terms.size()) {
      std::uint32_t id = id_of(shape);
      std::uint64_t key = seed_of(id);
      for (std::uint64_t hash : hashes) key = mix(key, hash);
      keys_.push_back({key, {policy.rank, &policy}});
      return;
    }
    for (const Choice& choice : terms[shape.size()]) {
      shape.push_back(choice.component);
      hashes.push_back(choice.hash);
      add_combinations(terms, shape, hashes, policy);
      shape.pop_back();
      hashes.pop_back();
    }
  }

  std::uint32_t id_of(const Shape& shape) {
    auto [at, added] = ids_.try_emplace(shape, static_cast<std::uint32_t>(index_.shapes_.size()));
    if (added) {
      index_.shapes_.push_back(shape);
      file(shape, at->second);
    }
    return at->second;
  }

  // Under the dimension that the fewest policies name.
  void file(const Shape& shape, std::uint32_t id) {
    const DimensionRef& rarest =
        std::ranges::min_element(shape, {}, [&](const Component& part) { return uses_.at(part.dimension); })->dimension;
    if (rarest.dimension == Dimension::tag) return index_.tag_anchors_[rarest.name].push_back(id);
    if (rarest.dimension == Dimension::attr) return index_.attribute_anchors_[rarest.name].push_back(id);
    auto anchor = std::ranges::find(index_.anchors_, rarest.dimension, &Anchor::dimension);
    if (anchor == index_.anchors_.end()) {
      index_.anchors_.push_back({rarest.dimension, {}});
      anchor = std::prev(index_.anchors_.end());
    }
    anchor->shapes.push_back(id);
  }

  void fill_table() {
    if (keys_.empty()) return;
    std::ranges::sort(keys_, {}, [](const Key& key) { return std::pair(key.hash, key.entry.rank); });
    std::size_t kinds = 1;
    for (std::size_t i = 1; i < keys_.size(); ++i) kinds += keys_[i].hash != keys_[i - 1].hash ? 1U : 0U;
    index_.slots_.resize(std::bit_ceil(2 * kinds));
    for (std::size_t i = 0; i < keys_.size();) {
      const std::size_t first = i;
      while (i < keys_.size() && keys_[i].hash == keys_[first].hash) ++i;
      put(std::span(keys_).subspan(first, i - first));
    }
  }

  // REQUIRES: all of one key.
  void put(std::span<const Key> keys) {
    Slot slot{keys[0].hash, static_cast<std::uint32_t>(keys.size()), 0, keys[0].entry};
    if (keys.size() > 1) {
      slot.first = static_cast<std::uint32_t>(index_.shared_.size());
      for (const Key& key : keys) index_.shared_.push_back(key.entry);
    }
    const std::size_t mask = index_.slots_.size() - 1;
    std::size_t at = slot.key & mask;
    while (index_.slots_[at].count > 0) at = (at + 1) & mask;
    index_.slots_[at] = slot;
  }

  PolicyIndex& index_;
  std::map<DimensionRef, std::size_t> uses_;  // in how many policies
  std::map<Shape, std::uint32_t> ids_;
  std::vector<Key> keys_;
};

void PolicyIndex::build(std::span<const CompiledPolicy* const> policies) {
  *this = {};
  Builder(*this).build(policies);
}

// What a request says, as components see it.
class PolicyIndex::Values {
 public:
  explicit Values(const CheckRequest& request) : request_(request) {}

  // Adds the component's value to the key; false where the request has none.
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
        if (source(*value).bits != component.address_bits) return false;
        key = mix(key, hash_of(block_of(address_, static_cast<std::uint8_t>(component.length))));
        return true;
    }
    return false;
  }

 private:
  // Parsed once, however many lengths of blocks there are; of no bits where it is no address.
  const IpAddress& source(const Value& value) {
    if (!parsed_) address_ = parse_ip(value.text).value_or(IpAddress{});
    parsed_ = true;
    return address_;
  }

  const CheckRequest& request_;
  IpAddress address_;
  bool parsed_ = false;
};

void PolicyIndex::find(std::uint64_t key, std::vector<Posting>& found) const {
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t at = key & mask; slots_[at].count > 0; at = (at + 1) & mask) {
    const Slot& slot = slots_[at];
    if (slot.key != key) continue;
    __builtin_prefetch(slot.only.policy);
    return found.push_back(slot.count == 1 ? Posting(&slot.only, 1) : Posting(shared_).subspan(slot.first, slot.count));
  }
}

// A few keys at a time: their slots are fetched from memory together.
void PolicyIndex::ask(const ShapeIds& shapes, Values& values, std::vector<Posting>& found) const {
  std::array<std::uint64_t, 16> keys;
  std::size_t waiting = 0;
  auto find_all = [&] {
    for (std::size_t i = 0; i < waiting; ++i) find(keys[i], found);
    waiting = 0;
  };
  for (std::uint32_t id : shapes) {
    std::uint64_t key = seed_of(id);
    const Shape& shape = shapes_[id];
    if (!std::ranges::all_of(shape, [&](const Component& part) { return values.add_to(key, part); })) continue;
    __builtin_prefetch(&slots_[key & (slots_.size() - 1)]);
    keys[waiting++] = key;
    if (waiting == keys.size()) find_all();
  }
  find_all();
}

void PolicyIndex::look_up(const CheckRequest& request, std::vector<Posting>& found) const {
  if (!unindexed_.empty()) found.emplace_back(unindexed_);
  Values values(request);
  for (const Anchor& anchor : anchors_) {
    if (request.dimensions[static_cast<std::size_t>(anchor.dimension)].present) ask(anchor.shapes, values, found);
  }
  auto ask_named = [&](const ByName& anchors, const std::vector<NamedValue>& named) {
    if (anchors.empty()) return;
    for (const NamedValue& value : named) {
      if (auto anchor = anchors.find(value.name); anchor != anchors.end()) ask(anchor->second, values, found);
    }
  };
  ask_named(tag_anchors_, request.tags);
  ask_named(attribute_anchors_, request.attributes);
}

}  // namespace sluice::policy
