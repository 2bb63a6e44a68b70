#include "server/injector/json_patch.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "common/base/json_text.hpp"

namespace sluice::server::injector {

void JsonPatch::write(std::string_view operation, std::string_view pointer, std::string_view value) {
  operations_ += operations_.empty() ? '[' : ',';
  operations_ += fmt::format(R"({{"op":"{}","path":)", operation);
  append_json_string(operations_, pointer);
  if (!value.empty()) {
    operations_ += R"(,"value":)";
    operations_ += value;
  }
  operations_ += '}';
}

std::string pointer_to(std::string_view parent, std::string_view part) {
  std::string pointer(parent);
  pointer += '/';
  for (const char c : part) {
    if (c == '~')
      pointer += "~0";
    else if (c == '/')
      pointer += "~1";
    else
      pointer += c;
  }
  return pointer;
}

std::string pointer_to(std::string_view parent, std::size_t index) { return fmt::format("{}/{}", parent, index); }

bool covers(const JsonValue& actual, const JsonValue& wanted) {
  if (actual.type() != wanted.type()) return false;
  switch (wanted.type()) {
    case JsonType::null:
      return true;
    case JsonType::boolean:
      return actual.boolean() == wanted.boolean();
    case JsonType::number:
    case JsonType::string:
      return actual.text() == wanted.text();
    case JsonType::array:
      return std::ranges::equal(actual.items(), wanted.items(), covers);
    case JsonType::object:
      return std::ranges::all_of(wanted.members(), [&](const JsonMember& part) {
        const JsonValue* const found = actual.find(part.name);
        return found != nullptr && covers(*found, part.value);
      });
  }
  return false;
}

}  // namespace sluice::server::injector
