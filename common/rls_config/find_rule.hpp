// Finds the rule of a descriptor, and names its metrics.
//
// Thread safety: pure functions. A Match belongs to one thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/rls_config/config.hpp"

namespace sluice::rls_config {

struct Entry {
  std::string_view key;
  std::string_view value;
};

// How an entry found its descriptor in the tree.
enum class MatchedBy : std::uint8_t { nothing, value, wildcard, key };

// Points into the config and the entries. Keeps its memory when it is filled again.
struct Match {
  struct Level {
    const Node* node = nullptr;  // nullptr if nothing matches
    MatchedBy by = MatchedBy::nothing;
    // With `share_threshold`, the pattern that all matching values are counted by; else "".
    std::string_view shared_by;
  };
  const Rule* rule = nullptr;  // nullptr: no limit
  std::vector<Level> levels;   // by entry, as far as the tree goes
  std::string name;            // scratch

  // What the entry is counted by.
  std::string_view counted_value(std::size_t index, const Entry& entry) const {
    const bool shared = index < levels.size() && !levels[index].shared_by.empty();
    return shared ? levels[index].shared_by : entry.value;
  }
};

void find_rule(const Node& root, std::span<const Entry> entries, Match& match);

// The path of the rule's metrics: the domain and a part for each entry. `detailed_metric` and `value_to_metric` put
// values of the request into it. REQUIRES: match.rule is not nullptr.
std::string metric_path(const Match& match, std::string_view domain, std::span<const Entry> entries);

// The path of a descriptor whose limit came with the request.
std::string metric_path(std::string_view domain, std::span<const Entry> entries);

}  // namespace sluice::rls_config
