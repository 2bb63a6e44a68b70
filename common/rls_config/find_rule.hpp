// Finds the rule of a descriptor, and names its metrics.
//
// Thread safety: pure functions. A Match belongs to one thread.
#pragma once

#include <cstddef>
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

// The parts of a rule's metrics, one for each entry. Each is ended by kPartEnd, which no part has.
inline constexpr char kPartEnd = '\0';
inline constexpr std::size_t kMaxPart = 128;  // bytes; what is longer is cut off

// Appends a text as a part. Control characters become '_'.
void append_part(std::string_view text, std::string& out);

// Appends the parts of the rule that matches. `detailed_metric` and `value_to_metric` put values of the request into
// them. REQUIRES: match.rule is not nullptr.
void append_metric_parts(const Match& match, std::span<const Entry> entries, std::string& out);

// Appends the parts of a descriptor whose limit came with the request.
void append_metric_parts(std::span<const Entry> entries, std::string& out);

}  // namespace sluice::rls_config
