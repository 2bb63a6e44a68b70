#include "common/rls_config/find_rule.hpp"

#include <algorithm>

namespace sluice::rls_config {
namespace {

Match::Level find_child(const Node& parent, const Entry& entry, std::string& name) {
  if (!parent.wildcards.empty() || parent.may_have_name_of(entry.key.size() + 1 + entry.value.size())) {
    name.assign(entry.key).append("_").append(entry.value);
    if (const auto found = parent.children.find(name); found != parent.children.end()) {
      return {found->second.get(), MatchedBy::value, {}};
    }
    for (const Node* wildcard : parent.wildcards) {
      const std::string_view prefix = std::string_view(wildcard->name).substr(0, wildcard->name.size() - 1);
      if (name.starts_with(prefix)) return {wildcard, MatchedBy::wildcard, {}};
    }
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

bool is_control(char c) { return (c >= '\0' && c < ' ') || c == '\x7f'; }

bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80; }

// Cuts what was appended since `begin` to kMaxPart bytes of whole characters, and ends it.
void end_part(std::size_t begin, std::string& out) {
  if (out.size() - begin > kMaxPart) {
    std::size_t end = begin + kMaxPart;
    while (end > begin && continues_character(out[end])) --end;
    out.resize(end);
  }
  std::replace_if(out.begin() + static_cast<std::ptrdiff_t>(begin), out.end(), is_control, '_');
  out += kPartEnd;
}

void append_pair(std::string_view key, std::string_view value, std::string& out) {
  const std::size_t begin = out.size();
  out.append(key);
  if (!value.empty()) out.append("_").append(value);
  end_part(begin, out);
}

// Which value a part shows depends on how the entry was matched.
std::string_view shown_value(const Match::Level& level, const Entry& entry) {
  if (!level.shared_by.empty()) return level.shared_by;
  switch (level.by) {
    case MatchedBy::value:
      return entry.value;
    case MatchedBy::wildcard:
      return level.node->value_to_metric ? entry.value : value_pattern(*level.node, entry.key);
    case MatchedBy::key:
      return level.node->value_to_metric ? entry.value : std::string_view();
    case MatchedBy::nothing:
      break;
  }
  return {};
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

void append_part(std::string_view text, std::string& out) { append_pair(text, {}, out); }

void append_metric_parts(const Match& match, std::span<const Entry> entries, std::string& out) {
  for (std::size_t i = 0; i < match.levels.size(); ++i) {
    const std::string_view value =
        match.rule->detailed_metric ? match.counted_value(i, entries[i]) : shown_value(match.levels[i], entries[i]);
    append_pair(entries[i].key, value, out);
  }
}

void append_metric_parts(std::span<const Entry> entries, std::string& out) {
  for (const Entry& entry : entries) append_pair(entry.key, entry.value, out);
}

}  // namespace sluice::rls_config
