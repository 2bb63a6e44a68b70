#include "common/yaml/yaml_mistake.hpp"

#include <algorithm>
#include <array>

#include <yaml-cpp/exceptions.h>

namespace sluice::yaml {
namespace {

// The first tab in the indentation of the line that has the byte at `offset`.
std::optional<std::size_t> tab_of_line(std::string_view text, std::size_t offset) {
  const std::size_t before = offset == 0 ? std::string_view::npos : text.rfind('\n', offset - 1);
  const std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
  const std::size_t at = text.find_first_not_of(' ', begin);
  return at < text.size() && text[at] == '\t' ? std::optional(at) : std::nullopt;
}

struct Hint {
  std::string_view message;
  std::string_view why;
};
constexpr std::string_view kAnchor = "an & begins an anchor: write a text that begins with & in quotes";
constexpr std::string_view kAlias =
    "a * begins an alias, which repeats a node with an anchor: write a text that begins with * in quotes, such as "
    "\"*\"";

}  // namespace

std::optional<YamlMistake> usual_mistake(std::string_view text, std::size_t offset, std::string_view message) {
  if (const auto tab = tab_of_line(text, std::min(offset, text.size()))) {
    return YamlMistake{"a tab in the indentation: indent with blanks", tab};
  }
  static const std::array hints{
      Hint{YAML::ErrorMsg::ALIAS_NOT_FOUND, kAlias},
      Hint{YAML::ErrorMsg::CHAR_IN_ALIAS, kAlias},
      Hint{YAML::ErrorMsg::UNKNOWN_ANCHOR, kAlias},
      Hint{YAML::ErrorMsg::ANCHOR_NOT_FOUND, kAnchor},
      Hint{YAML::ErrorMsg::CHAR_IN_ANCHOR, kAnchor},
      Hint{YAML::ErrorMsg::UNKNOWN_TOKEN, "a text that begins with @, % or ` must be in quotes"},
      Hint{
          YAML::ErrorMsg::MAP_VALUE,
          "a colon with a blank behind it ends a name: write a text that has one in quotes, and begin all names of one "
          "map in the same column"},
  };
  const auto hint =
      std::ranges::find_if(hints, [message](const Hint& each) { return message.starts_with(each.message); });
  if (hint == hints.end()) return std::nullopt;
  return YamlMistake{hint->why, std::nullopt};
}

}  // namespace sluice::yaml
