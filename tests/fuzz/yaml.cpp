// Any bytes as YAML: no crash, no endless work; what is refused says where, in the text; what is accepted is JSON, with a
// value at the beginning of each line, and a place in the text for each line.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "common/domain/json_tree.hpp"
#include "server/admin/yaml.hpp"

namespace {

using namespace sluice;

#define REQUIRE_THAT(condition)                                                    \
  do {                                                                             \
    if (!(condition)) {                                                            \
      std::fprintf(stderr, "%s:%d: broken: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                \
    }                                                                              \
  } while (false)

// Whether the text has such a line, and in it such a column or the end behind it.
void require_within(std::string_view text, std::uint32_t line, std::uint32_t column) {
  REQUIRE_THAT(line >= 1 && column >= 1);
  for (std::uint32_t i = 1; i < line; ++i) {
    const std::size_t end = text.find('\n');
    REQUIRE_THAT(end != std::string_view::npos);
    text.remove_prefix(end + 1);
  }
  REQUIRE_THAT(column <= text.substr(0, text.find('\n')).size() + 2);
}

std::size_t count_values(const JsonValue& value) {
  std::size_t count = 1;
  if (value.type() == JsonType::array) {
    for (const JsonValue& item : value.items()) count += count_values(item);
  } else if (value.type() == JsonType::object) {
    for (const JsonMember& member : value.members()) count += count_values(member.value);
  }
  return count;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto made = server::json_of_yaml(text);
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  if (!made) {
    REQUIRE_THAT(!made.error().text.empty());
    require_within(text, made.error().line, made.error().column);
    return 0;
  }
  JsonTree tree;
  const auto document = tree.parse(made->json);
  if (!document) {
    // A text may hold NUL only by an escape; JSON here has none.
    REQUIRE_THAT(document.error().line >= 1 && document.error().line <= made->places.size());
    return 0;
  }
  REQUIRE_THAT(count_values(*document) == made->places.size());
  REQUIRE_THAT(static_cast<std::size_t>(std::ranges::count(made->json, '\n')) + 1 == made->places.size());
  for (const TextPosition& place : made->places) require_within(text, place.line, place.column);
  return 0;
}
