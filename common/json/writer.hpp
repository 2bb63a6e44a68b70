// Writing canonical JSON: for people, members on lines of their own, two spaces deep, lists of texts on one line; or
// compact, without a space or a line that need not be there.
//
// Thread safety: none; a writer belongs to its caller.
// REQUIRES of the caller: begin and end match, a key before every value in an object.
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
  void texts(const std::vector<std::string>& values);  // a list on one line
  void raw(std::string_view json);                     // a value that is JSON text already
  // The members of an object that is compact JSON text already, among those of the open object.
  void members_of(std::string_view object);

  void field(std::string_view name, std::string_view value);
  void field(std::string_view name, const char* value) { field(name, std::string_view(value)); }
  void field(std::string_view name, std::int64_t value);
  void field(std::string_view name, bool value);
  // The shortest decimal that reads back as the same double. REQUIRES: finite.
  void field(std::string_view name, double value);
  void null_field(std::string_view name);
  // Left out when empty.
  void optional_field(std::string_view name, std::string_view value);

  std::string take() { return std::move(out_); }

 private:
  void begin(char bracket);
  void end(char bracket);
  void begin_item();  // the comma and the line before a member or an item of a list
  void new_line();

  bool compact_;
  std::string out_;
  std::size_t depth_ = 0;
  bool first_ = true;       // nothing stands in the open object or list yet
  bool after_key_ = false;  // the next value belongs to a key on the same line
};

}  // namespace sluice::json
