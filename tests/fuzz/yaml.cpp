// Any bytes as YAML: no crash, no endless work; what is refused says where, in the text; what is accepted is JSON, with
// a value at the beginning of each line, and a place in the text for each line.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/json/tree.hpp"
#include "common/yaml/yaml.hpp"
#include "tests/fuzz/require.hpp"

namespace {

using namespace sluice;

// The bytes of each line.
std::vector<std::size_t> lines_of(std::string_view text) {
  std::vector<std::size_t> lines{0};
  for (const char c : text) {
    if (c == '\n') {
      lines.push_back(0);
    } else {
      ++lines.back();
    }
  }
  return lines;
}

// Whether there is such a line, and in it such a column or the end behind it.
void require_within(const std::vector<std::size_t>& lines, std::uint32_t line, std::uint32_t column) {
  REQUIRE_THAT(line >= 1 && line <= lines.size());
  REQUIRE_THAT(column >= 1 && column <= lines[line - 1] + 2);
}

std::size_t count_values(const json::Value& value) {
  std::size_t count = 1;
  if (value.type() == json::Type::array) {
    for (const json::Value& item : value.items()) count += count_values(item);
  } else if (value.type() == json::Type::object) {
    for (const json::Member& member : value.members()) count += count_values(member.value);
  }
  return count;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto made = yaml::json_of_yaml(text);
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  const std::vector<std::size_t> lines = lines_of(text);
  if (!made) {
    REQUIRE_THAT(!made.error().text.empty());
    require_within(lines, made.error().line, made.error().column);
    return 0;
  }
  json::Tree tree;
  const auto document = tree.parse(made->json);
  if (!document) {
    // A text may hold NUL only by an escape; JSON here has none.
    REQUIRE_THAT(document.error().line >= 1 && document.error().line <= made->positions.size());
    return 0;
  }
  REQUIRE_THAT(count_values(*document) == made->positions.size());
  REQUIRE_THAT(static_cast<std::size_t>(std::ranges::count(made->json, '\n')) + 1 == made->positions.size());
  for (const TextPosition& place : made->positions) require_within(lines, place.line, place.column);
  return 0;
}
