// The rules of all domains. Immutable once it is read, and shared by all threads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "common/rls_config/unit.hpp"

namespace sluice::rls_config {

// A block `rate_limit`, with the settings of its descriptor.
struct Rule {
  std::string name;                   // "": none
  std::vector<std::string> replaces;  // names of rules that do not count in a request where this rule is found
  bool unlimited = false;             // then there is neither a number nor a unit
  std::uint32_t requests_per_unit = 0;
  Unit unit = Unit::second;
  bool shadow_mode = false;
  bool quota_mode = false;
  bool detailed_metric = false;
  std::string metadata;  // a JSON object; "": none
  std::string path;      // the domain and the names of all levels, joined by '.'
};

struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};

// One descriptor, or the root of a domain.
struct Node {
  std::string name;           // `key` or `key_value`
  std::size_t key_bytes = 0;  // how much of the name is the key
  // Where it is written. `index` grows in the order of the files.
  std::uint32_t file = 0;
  std::uint32_t line = 0;
  std::uint32_t index = 0;
  std::optional<Rule> rule;
  bool value_to_metric = false;
  bool share_threshold = false;
  std::unordered_map<std::string, std::unique_ptr<Node>, TextHash, std::equal_to<>> children;  // by name
  std::uint64_t name_sizes = 0;        // bit n: a child's name may have n bytes, modulo 64
  std::vector<const Node*> wildcards;  // the children whose name ends in '*', in the order of the file

  // Saves looking for `key_value` below a node whose children have no values.
  void note_name_size(std::size_t bytes) { name_sizes |= std::uint64_t{1} << bytes % 64; }
  bool may_have_name_of(std::size_t bytes) const { return (name_sizes >> bytes % 64 & 1) != 0; }

  std::string_view key() const { return std::string_view(name).substr(0, key_bytes); }
  std::string_view value() const { return std::string_view(name).substr(std::min(key_bytes + 1, name.size())); }
};

struct Config {
  std::unordered_map<std::string, Node, TextHash, std::equal_to<>> domains;  // the roots, by domain
  std::size_t rules = 0;

  const Node* find(std::string_view domain) const {
    const auto found = domains.find(domain);
    return found == domains.end() ? nullptr : &found->second;
  }
};

}  // namespace sluice::rls_config
