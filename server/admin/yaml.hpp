// Converts YAML to JSON, so that bundles in both forms go through one reader.
//
// What comes out is what was written: numbers keep their digits, quoted scalars are texts, plain ones follow the core
// schema of YAML 1.2 (yaml_scalar.hpp). Anchors and aliases are followed, within bounds. Refused: tags but !!str, !!map
// and
// !!seq, names that are no scalars, merge keys, more than one document, more levels than JSON may have.
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

// The parser takes up to a hundred times the size of a text in flow style, and half a second for each MiB.
inline constexpr std::size_t kMaxYamlBytes = std::size_t{4} << 20;
inline constexpr std::size_t kMaxOpenBrackets = 10'000;                 // more than it would ever see closed
inline constexpr std::size_t kMaxAliasedBytes = std::size_t{16} << 20;  // of JSON that aliases add

struct YamlDocument {
  std::string json;                  // each value begins on a line of its own
  std::vector<TextPosition> places;  // by these lines: where the value is in the YAML

  // Gives faults in the JSON, of which the pointer or the line is known, their line and column in the YAML.
  void locate(Faults& faults) const;
};

// The fault has its line and column.
std::expected<YamlDocument, Fault> json_of_yaml(std::string_view text);

}  // namespace sluice::server::admin
