// Converts YAML to JSON, so one reader reads bundles in both forms.
//
// Numbers keep their digits. Quoted scalars are texts; plain scalars follow the core schema of YAML 1.2
// (yaml_scalar.hpp). Aliases are replaced by what they refer to, within limits. Refused: tags except !!str, !!map and
// !!seq, names that are not scalars, merge keys, more than one document, and more levels than JSON may have.
//
// Thread safety: pure functions.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.hpp"
#include "common/base/text_position.hpp"

namespace sluice::server::admin {

// The parser needs up to a hundred times the size of the text as memory (flow style), and half a second per MiB.
inline constexpr std::size_t kMaxYamlBytes = std::size_t{4} << 20;
// Far above json::kMaxDepth, because brackets inside texts count too.
inline constexpr std::size_t kMaxOpenBrackets = 10'000;
inline constexpr std::size_t kMaxAliasedBytes = std::size_t{16} << 20;  // of JSON that aliases add

struct YamlDocument {
  std::string json;                     // each value begins on a line of its own
  std::vector<TextPosition> positions;  // positions[i]: position in the YAML of the value on line i + 1 of the JSON

  // Gives each fault that has a pointer or a line in the JSON its line and column in the YAML.
  void locate(Faults& faults) const;
};

// The fault has its line and column in the YAML.
std::expected<YamlDocument, Fault> json_of_yaml(std::string_view text);

}  // namespace sluice::server::admin
