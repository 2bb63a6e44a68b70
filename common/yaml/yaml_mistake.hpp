// Names the usual mistakes in YAML, with the fix. The parser only names the rule of the grammar that is broken.
//
// Thread safety: a pure function.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace sluice::yaml {

struct YamlMistake {
  std::string_view why;
  // The byte where the mistake is. nullopt: where the parser stopped.
  std::optional<std::size_t> offset;
};

// `message`: the parser's, about the byte at `offset`. Returns nullopt for any other mistake.
std::optional<YamlMistake> usual_mistake(std::string_view text, std::size_t offset, std::string_view message);

}  // namespace sluice::yaml
