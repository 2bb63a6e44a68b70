// Changes of the index. policy_index.hpp explains shapes and anchors. The key of an entry is the hash that the entry is
// stored under. A slot has all entries with the same key.
#include <algorithm>
#include <utility>

#include "common/policy/policy_index.hpp"
#include "common/policy/policy_index_filing.hpp"
#include "common/policy/policy_index_hash.hpp"

namespace sluice::policy {

using index_hash::hash_of;
using index_hash::mix;

namespace {

bool is_indexable(const Term& term) {
  bool owner = term.dimension.dimension == Dimension::org || term.dimension.dimension == Dimension::tenant;
  return !owner && term.discriminates();
}

// Returns the terms that the index looks up: a policy has one entry for each combination of their values. A term that
// would make too many combinations is left out; the caller matches it after the look-up.
std::vector<const Term*> keyed_terms(const Scope& scope) {
  constexpr std::size_t kFewEntries = 64;
  std::vector<const Term*> by_size;
  for (const Term& term : scope) {
    if (is_indexable(term)) by_size.push_back(&term);
  }
  std::ranges::sort(by_size, std::greater<>(), [](const Term* term) { return std::pair(term->value_count(), term); });
  std::vector<const Term*> terms;
  std::size_t entries = 1;
  for (const Term* term : by_size) {
    std::size_t max_entries = std::max(kFewEntries, 4 * by_size.front()->value_count());
    if (entries * term->value_count() > max_entries) continue;
    entries *= term->value_count();
    terms.push_back(term);
  }
  std::ranges::sort(terms, {}, &Term::dimension);
  return terms;
}

}  // namespace

bool is_indexable(const Scope& scope) {
  return std::ranges::any_of(scope, [](const Term& term) { return is_indexable(term); });
}

class PolicyIndex::Change {
 public:
  explicit Change(PolicyIndex& index) : index_(index) {}

  // Counts the added policies first, so that a shape that they share with removed policies is kept.
  void run(Policies removed, Policies added) {
    for (const CompiledPolicy* policy : added) add_steps(*policy, true);
    for (const CompiledPolicy* policy : removed) add_steps(*policy, false);
    std::ranges::sort(steps_, [](const Step& a, const Step& b) { return a.key < b.key; });
    for (std::size_t i = 0; i < steps_.size();) {
      const std::size_t first = i;
      while (i < steps_.size() && steps_[i].key == steps_[first].key) ++i;
      change_slot(std::span(steps_).subspan(first, i - first));
    }
    refile();
  }

 private:
  struct Step {
    std::uint64_t key;
    const CompiledPolicy* policy;
    bool is_added;
  };
  // One value of a term.
  struct Choice {
    Component component;
    std::uint64_t component_hash;
    std::uint64_t value_hash;
  };
  using Choices = std::vector<Choice>;

  static Choices choices_of(const Term& term) {
    Choices choices;
    auto add = [&](Kind kind, std::uint8_t bits, std::size_t length, std::uint64_t value_hash) {
      const std::uint64_t of_kind = static_cast<std::uint64_t>(kind) << 32U | std::uint64_t{bits} << 16U | length;
      choices.push_back({{term.dimension, kind, bits, static_cast<std::uint16_t>(length)},
                         mix(hash_of_dimension(term.dimension), of_kind),
                         value_hash});
    };
    for (const std::string& text : term.exact) add(Kind::exact, 0, 0, hash_of(text));
    for (const std::string& text : term.prefixes) add(Kind::prefix, 0, text.size(), hash_of(text));
    for (const ResourcePattern& pattern : term.patterns) {
      const auto hash = index_hash::hash_of_pattern(pattern.text, pattern.segments, pattern.literals);
      add(Kind::pattern, pattern.segments, pattern.literals, hash.value_or(0));
    }
    for (const IpBlock& block : term.blocks) add(Kind::block, block.base.bits, block.prefix, hash_of(block));
    return choices;
  }

  // Also counts the policy, its dimensions and its shapes.
  void add_steps(const CompiledPolicy& policy, bool is_added) {
    is_added ? ++index_.policies_ : --index_.policies_;
    for (const Term& term : policy.scope) count_use(term.dimension, is_added);
    std::vector<Choices> terms;
    for (const Term* term : keyed_terms(policy.scope)) terms.push_back(choices_of(*term));
    if (terms.empty()) return unindexed_.push_back({0, &policy, is_added});
    std::vector<const Choice*> chosen;
    add_combinations(terms, chosen, policy, is_added);
  }

  void add_combinations(const std::vector<Choices>& terms, std::vector<const Choice*>& chosen,
                        const CompiledPolicy& policy, bool is_added) {
    if (chosen.size() == terms.size()) {
      std::uint64_t key = count_shape(chosen, is_added);
      for (const Choice* choice : chosen) key = mix(key, choice->value_hash);
      return steps_.push_back({key, &policy, is_added});
    }
    for (const Choice& choice : terms[chosen.size()]) {
      chosen.push_back(&choice);
      add_combinations(terms, chosen, policy, is_added);
      chosen.pop_back();
    }
  }

  void count_use(const DimensionRef& dimension, bool is_added) {
    const std::uint64_t hash = hash_of_dimension(dimension);
    auto is = [&](const Use& use) { return use.dimension == dimension; };
    const Use* use = index_.uses_.find(hash, is);
    if (!use) {
      index_.uses_.put({dimension, 1}, is);
    } else if (!is_added && use->policies == 1) {
      index_.uses_.erase(hash, is);
    } else {
      index_.uses_.edit(hash, is)->policies += is_added ? 1U : ~std::size_t{0};
    }
  }

  // Returns Shape::seed: a hash of the shape's components.
  std::uint64_t count_shape(const std::vector<const Choice*>& chosen, bool is_added) {
    std::uint64_t seed = chosen.size();
    for (const Choice* choice : chosen) seed = mix(seed, choice->component_hash);
    auto is = [&](const ShapeCount& each) {
      return std::ranges::equal(each.shape->components, chosen, {}, {},
                                [](const Choice* one) -> const Component& { return one->component; });
    };
    const ShapeCount* known = index_.shapes_.find(seed, is);
    if (!known) {
      auto shape = std::make_shared<Shape>();
      shape->seed = seed;
      for (const Choice* choice : chosen) shape->components.push_back(choice->component);
      new_shapes_.push_back(shape);
      index_.shapes_.put({std::move(shape), 1}, is);
    } else if (!is_added && known->entries == 1) {
      unused_shapes_.push_back(known->shape);
      index_.shapes_.erase(seed, is);
    } else {
      index_.shapes_.edit(seed, is)->entries += is_added ? 1U : ~std::size_t{0};
    }
    return seed;
  }

  static bool before(const IndexEntry& a, const IndexEntry& b) { return precedes(a, b); }

  // `entries` stay unique and in order.
  static void apply(std::vector<IndexEntry>& entries, std::span<const Step> steps) {
    std::vector<const CompiledPolicy*> gone;
    std::vector<IndexEntry> come;
    for (const Step& step : steps) {
      if (step.is_added) {
        come.push_back({step.policy->order, step.policy});
      } else {
        gone.push_back(step.policy);
      }
    }
    std::ranges::sort(gone);
    std::sort(come.begin(), come.end(), before);
    std::vector<IndexEntry> all;
    all.reserve(entries.size() + come.size());
    std::merge(entries.begin(), entries.end(), come.begin(), come.end(), std::back_inserter(all), before);
    std::erase_if(all, [&](const IndexEntry& entry) { return std::ranges::binary_search(gone, entry.policy); });
    const auto duplicates = std::ranges::unique(all, {}, &IndexEntry::policy);
    all.erase(duplicates.begin(), duplicates.end());
    entries = std::move(all);
  }

  // REQUIRES: all steps have the same key.
  void change_slot(std::span<const Step> steps) {
    const std::uint64_t key = steps.front().key;
    auto is = [](const Slot&) { return true; };
    std::vector<IndexEntry> entries;
    if (const Slot* slot = index_.slots_.find(key, is)) {
      if (slot->several) {
        entries = slot->several->entries;
      } else {
        entries.push_back(slot->first);
      }
    } else if (steps.size() == 1) {  // the usual case, handled without sorting
      index_.slots_.put({key, {steps[0].policy->order, steps[0].policy}}, is);
      return;
    }
    apply(entries, steps);
    if (entries.empty()) {
      index_.slots_.erase(key, is);
      return;
    }
    Slot slot{key, entries.front()};
    if (entries.size() > 1) slot.several = new Several(std::move(entries));
    index_.slots_.put(std::move(slot), is);
  }

  // Files the new shapes under their anchors and removes the unused shapes. Chooses all anchors again if the number of
  // policies has doubled or halved since that was last done, because other dimensions may be the rarest now.
  void refile() {
    if (index_.policies_ == 0) return index_.directory_.reset();
    const std::size_t refiled_at_policies = index_.directory_ ? index_.directory_->refiled_at_policies : 0;
    const bool all = index_.policies_ >= 2 * refiled_at_policies || 2 * index_.policies_ <= refiled_at_policies;
    if (!all && new_shapes_.empty() && unused_shapes_.empty() && unindexed_.empty()) return;
    AnchorFiling filing(index_);
    if (all) {
      filing.refile_all();
    } else {
      for (const SharedShape& shape : new_shapes_) filing.add(shape);
      for (const SharedShape& shape : unused_shapes_) filing.remove(shape);
    }
    apply(filing.directory().unindexed, unindexed_);
    index_.directory_ = std::make_shared<const Directory>(std::move(filing.directory()));
  }

  PolicyIndex& index_;
  std::vector<Step> steps_;
  std::vector<Step> unindexed_;
  Shapes new_shapes_, unused_shapes_;
};

void PolicyIndex::change(Policies removed, Policies added) { Change(*this).run(removed, added); }

}  // namespace sluice::policy
