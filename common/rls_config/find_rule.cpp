#include "common/rls_config/find_rule.hpp"

#include <algorithm>

namespace sluice::rls_config {
namespace {

Match::Level find_child(const Node& parent, const Entry& entry, std::string& name) {
  name.assign(entry.key).append("_").append(entry.value);
  if (const auto found = parent.children.find(name); found != parent.children.end()) {
    return {found->second.get(), MatchedBy::value, {}};
  }
  for (const Node* wildcard : parent.wildcards) {
    const std::string_view prefix = std::string_view(wildcard->name).substr(0, wildcard->name.size() - 1);
    if (name.starts_with(prefix)) return {wildcard, MatchedBy::wildcard, {}};
  }
  const auto found = parent.children.find(entry.key);
  if (found == parent.children.end()) return {};
  return {found->second.get(), MatchedBy::key, {}};
}

// `key_files*` as the pattern of the values: `files*`.
std::string_view value_pattern(const Node& wildcard, std::string_view key) {
  std::string_view pattern = wildcard.name;
  if (pattern.starts_with(key) && pattern.substr(key.size()).starts_with('_')) pattern.remove_prefix(key.size() + 1);
  return pattern;
}

void append_pair(std::string_view key, std::string_view value, std::string& out) {
  out.append(key);
  if (!value.empty()) out.append("_").append(value);
}

// A part of the path: which value it shows depends on how the entry was matched.
void append_part(const Match::Level& level, const Entry& entry, std::string& out) {
  if (!level.shared_by.empty()) return append_pair(entry.key, level.shared_by, out);
  switch (level.by) {
    case MatchedBy::value:
      return append_pair(entry.key, entry.value, out);
    case MatchedBy::wildcard:
      return append_pair(entry.key, level.node->value_to_metric ? entry.value : value_pattern(*level.node, entry.key),
                         out);
    case MatchedBy::key:
      return append_pair(entry.key, level.node->value_to_metric ? entry.value : std::string_view(), out);
    case MatchedBy::nothing:
      out.append(entry.key);
  }
}

}  // namespace

void find_rule(const Node& root, std::span<const Entry> entries, Match& match) {
  match.rule = nullptr;
  match.levels.clear();
  const Node* parent = &root;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    Match::Level level = find_child(*parent, entries[i], match.name);
    if (level.by == MatchedBy::wildcard && level.node->share_threshold) {
      level.shared_by = value_pattern(*level.node, entries[i].key);
    }
    match.levels.push_back(level);
    if (level.node == nullptr) return;
    const bool is_last = i + 1 == entries.size();
    if (is_last && level.node->rule) match.rule = &*level.node->rule;
    if (level.node->children.empty()) return;
    parent = level.node;
  }
}

std::string metric_path(const Match& match, std::string_view domain, std::span<const Entry> entries) {
  if (match.rule->detailed_metric) {
    std::string path(domain);
    for (std::size_t i = 0; i < entries.size(); ++i) {
      append_pair(entries[i].key, match.counted_value(i, entries[i]), path.append("."));
    }
    return path;
  }
  std::string path(domain);
  for (std::size_t i = 0; i < match.levels.size(); ++i) append_part(match.levels[i], entries[i], path.append("."));
  return path;
}

std::string metric_path(std::string_view domain, std::span<const Entry> entries) {
  std::string path(domain);
  for (const Entry& entry : entries) append_pair(entry.key, entry.value, path.append("."));
  return path;
}

}  // namespace sluice::rls_config
