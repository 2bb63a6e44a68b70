// Writes JSON into a string, value by value. The layout `lines` puts each member on a line of its own; `compact` writes
// no white space.
//
// Thread safety: none.
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
  void texts(const std::vector<std::string>& values);  // a list on one line, in any layout
  void raw(std::string_view json);
  // Adds all members of `object`, a compact JSON text, to the open object.
  void members_of(std::string_view object);

  void field(std::string_view name, std::string_view value);
  void field(std::string_view name, const char* value) { field(name, std::string_view(value)); }
  void field(std::string_view name, std::int64_t value);
  void field(std::string_view name, bool value);
  // Writes the shortest decimal that reads back as the same double. REQUIRES: `value` is finite.
  void field(std::string_view name, double value);
  void null_field(std::string_view name);
  // Leaves out an empty value.
  void optional_field(std::string_view name, std::string_view value);

  std::string take() { return std::move(out_); }

 private:
  void begin(char bracket);
  void end(char bracket);
  void begin_item();
  void new_line();

  bool compact_;
  std::string out_;
  std::size_t depth_ = 0;
  bool first_ = true;  // the open object or list is empty so far
  bool after_key_ = false;
};

}  // namespace sluice::json
