// Converts YAML 1.2 to JSON, so that one reader reads bundles of both formats.
//
// Refuses tags (except !!str, !!map and !!seq), member names that are not scalars, merge keys, more than one document,
// and nesting deeper than json::kMaxDepth.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.hpp"
#include "common/base/text_position.hpp"

namespace sluice::yaml {

// For flow style, the parser needs up to a hundred times the size of the text as memory, and 0.5 s per MiB.
inline constexpr std::size_t kMaxYamlBytes = std::size_t{4} << 20;
// Far more than json::kMaxDepth, because brackets inside texts count too.
inline constexpr std::size_t kMaxOpenBrackets = 10'000;
inline constexpr std::size_t kMaxAliasedBytes = std::size_t{16} << 20;  // bytes of JSON that aliases may add

struct YamlDocument {
  std::string json;                     // each value begins on a line of its own
  std::vector<TextPosition> positions;  // in the YAML; positions[i] is for the value on line i + 1 of the JSON

  // Gives each fault its line and column in the YAML. Finds them by the fault's pointer, or by its line in the JSON.
  void locate(Faults& faults) const;
};

// The fault has its line and column in the YAML.
std::expected<YamlDocument, Fault> json_of_yaml(std::string_view text);

}  // namespace sluice::yaml
