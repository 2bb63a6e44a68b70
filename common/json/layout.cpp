#include "common/json/layout.hpp"

#include <utility>

#include "common/json/edit.hpp"
#include "common/json/text.hpp"

namespace sluice::json {
namespace {

// Writes the text `before` in front of each child. `before` begins with a comma, which the first child does not get.
template <class WriteChild>
void lay_out_children(std::string& out, const Value& value, std::string_view before, WriteChild write_child) {
  const auto begin = [&](bool first) { out += before.substr(first ? 1 : 0); };
  bool first = true;
  if (value.type() == Type::array) {
    for (const Value& item : value.items()) {
      begin(std::exchange(first, false));
      write_child(item);
    }
    return;
  }
  for (const Member& member : value.members()) {
    begin(std::exchange(first, false));
    append_string(out, member.name);
    out += ": ";
    write_child(member.value);
  }
}

void append_on_one_line(std::string& out, const Value& value) {
  if (value.type() != Type::array && value.type() != Type::object) return append(out, value);
  const bool is_list = value.type() == Type::array;
  const std::size_t begin = out.size();
  lay_out_children(out, value, ", ", [&](const Value& child) { append_on_one_line(out, child); });
  if (out.size() == begin) {
    out += is_list ? "[]" : "{}";
    return;
  }
  out[begin] = is_list ? '[' : '{';  // replaces the space before the first child
  out += is_list ? ']' : '}';
}

void append_lines(std::string& out, const Value& value, std::size_t depth, std::size_t width) {
  const std::size_t begin = out.size();
  append_on_one_line(out, value);
  const bool childless = (value.type() != Type::array && value.type() != Type::object) || out.size() - begin == 2;
  const std::size_t column = begin - (out.rfind('\n', begin) + 1);
  if (childless || column + out.size() - begin < width) return;  // leaves room for a comma
  out.resize(begin);
  const bool is_list = value.type() == Type::array;
  out += is_list ? '[' : '{';
  const std::string before = ",\n" + std::string(2 * depth + 2, ' ');
  lay_out_children(out, value, before, [&](const Value& child) { append_lines(out, child, depth + 1, width); });
  out += '\n' + std::string(2 * depth, ' ');
  out += is_list ? ']' : '}';
}

}  // namespace

std::string indented(const Value& value, std::size_t width) {
  std::string out;
  append_lines(out, value, 0, width);
  return out;
}

}  // namespace sluice::json
