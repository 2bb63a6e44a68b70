#include "common/json/patch.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "common/json/text.hpp"

namespace sluice::json {

void Patch::write(std::string_view operation, std::string_view pointer, std::string_view value) {
  operations_ += operations_.empty() ? '[' : ',';
  operations_ += fmt::format(R"({{"op":"{}","path":)", operation);
  append_string(operations_, pointer);
  if (!value.empty()) {
    operations_ += R"(,"value":)";
    operations_ += value;
  }
  operations_ += '}';
}

bool covers(const Value& actual, const Value& wanted) {
  if (actual.type() != wanted.type()) return false;
  switch (wanted.type()) {
    case Type::null:
      return true;
    case Type::boolean:
      return actual.boolean() == wanted.boolean();
    case Type::number:
    case Type::string:
      return actual.text() == wanted.text();
    case Type::array:
      return std::ranges::equal(actual.items(), wanted.items(), covers);
    case Type::object:
      return std::ranges::all_of(wanted.members(), [&](const Member& part) {
        const Value* const found = actual.find(part.name);
        return found != nullptr && covers(*found, part.value);
      });
  }
  return false;
}

}  // namespace sluice::json
