#include "common/json/writer.hpp"

#include <fmt/format.h>

#include "common/json/text.hpp"

namespace sluice::json {

void Writer::key(std::string_view name) {
  begin_item();
  append_string(out_, name);
  out_ += compact_ ? ":" : ": ";
  after_key_ = true;
}

void Writer::text(std::string_view value) {
  begin_item();
  append_string(out_, value);
}

void Writer::begin_object() { begin('{'); }
void Writer::end_object() { end('}'); }
void Writer::begin_list() { begin('['); }
void Writer::end_list() { end(']'); }

void Writer::texts(const std::vector<std::string>& values) {
  begin_item();
  out_ += '[';
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i != 0) out_ += compact_ ? "," : ", ";
    append_string(out_, values[i]);
  }
  out_ += ']';
}

void Writer::raw(std::string_view json) {
  begin_item();
  out_ += json;
}

void Writer::members_of(std::string_view object) {
  if (object.size() <= 2) return;
  begin_item();
  out_ += object.substr(1, object.size() - 2);
}

void Writer::field(std::string_view name, std::string_view value) {
  key(name);
  text(value);
}

void Writer::field(std::string_view name, std::int64_t value) {
  key(name);
  begin_item();
  append_integer(out_, value);
}

void Writer::field(std::string_view name, bool value) {
  key(name);
  begin_item();
  out_ += value ? "true" : "false";
}

void Writer::field(std::string_view name, double value) {
  key(name);
  begin_item();
  fmt::format_to(std::back_inserter(out_), "{}", value);
}

void Writer::null_field(std::string_view name) {
  key(name);
  begin_item();
  out_ += "null";
}

void Writer::optional_field(std::string_view name, std::string_view value) {
  if (!value.empty()) field(name, value);
}

void Writer::begin(char bracket) {
  begin_item();
  out_ += bracket;
  ++depth_;
  first_ = true;
}

void Writer::end(char bracket) {
  --depth_;
  if (!first_) new_line();
  out_ += bracket;
  first_ = false;
}

void Writer::begin_item() {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  if (depth_ == 0) return;
  if (!first_) out_ += ',';
  first_ = false;
  new_line();
}

void Writer::new_line() {
  if (compact_) return;
  out_.append(1, '\n').append(2 * depth_, ' ');
}

}  // namespace sluice::json
