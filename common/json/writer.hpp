// Writes JSON into a string, value by value. There are two layouts: `lines` puts each member on a line of its own,
// indented by two spaces per level, and lists of strings on one line; `compact` writes no white space.
//
// Thread safety: none; a writer belongs to its caller.
// REQUIRES: calls of begin_… and end_… match, and key() precedes every value in an object.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::json {

class Writer {
 public:
  enum class Layout : std::uint8_t { lines, compact };
  explicit Writer(Layout layout = Layout::lines) : compact_(layout == Layout::compact) {}

  void key(std::string_view name);
  void text(std::string_view value);
  void begin_object();
  void end_object();
  void begin_list();
  void end_list();
  void texts(const std::vector<std::string>& values);  // a list of strings, on one line
  void raw(std::string_view json);                     // a value given as JSON text
  // Adds all members of `object` to the open object. `object` is compact JSON text.
  void members_of(std::string_view object);

  void field(std::string_view name, std::string_view value);
  void field(std::string_view name, const char* value) { field(name, std::string_view(value)); }
  void field(std::string_view name, std::int64_t value);
  void field(std::string_view name, bool value);
  // Writes the shortest decimal that reads back as the same double. REQUIRES: `value` is finite.
  void field(std::string_view name, double value);
  void null_field(std::string_view name);
  // Writes nothing if `value` is empty.
  void optional_field(std::string_view name, std::string_view value);

  std::string take() { return std::move(out_); }

 private:
  void begin(char bracket);
  void end(char bracket);
  void begin_item();  // writes the comma and the line break before a member or list item
  void new_line();

  bool compact_;
  std::string out_;
  std::size_t depth_ = 0;
  bool first_ = true;       // the open object or list is empty so far
  bool after_key_ = false;  // the next value belongs to the key just written
};

}  // namespace sluice::json
