#include "common/domain/json_writer.hpp"

#include <fmt/format.h>

#include "common/base/json_text.hpp"

namespace sluice {

void JsonWriter::key(std::string_view name) {
  begin_item();
  append_json_string(out_, name);
  out_ += compact_ ? ":" : ": ";
  after_key_ = true;
}

void JsonWriter::text(std::string_view value) {
  begin_item();
  append_json_string(out_, value);
}

void JsonWriter::begin_object() { begin('{'); }
void JsonWriter::end_object() { end('}'); }
void JsonWriter::begin_list() { begin('['); }
void JsonWriter::end_list() { end(']'); }

void JsonWriter::texts(const std::vector<std::string>& values) {
  begin_item();
  out_ += '[';
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i != 0) out_ += compact_ ? "," : ", ";
    append_json_string(out_, values[i]);
  }
  out_ += ']';
}

void JsonWriter::field(std::string_view name, std::string_view value) {
  key(name);
  text(value);
}

void JsonWriter::field(std::string_view name, std::int64_t value) {
  key(name);
  begin_item();
  append_integer(out_, value);
}

void JsonWriter::field(std::string_view name, bool value) {
  key(name);
  begin_item();
  out_ += value ? "true" : "false";
}

void JsonWriter::field(std::string_view name, double value) {
  key(name);
  begin_item();
  fmt::format_to(std::back_inserter(out_), "{}", value);
}

void JsonWriter::null_field(std::string_view name) {
  key(name);
  begin_item();
  out_ += "null";
}

void JsonWriter::optional_field(std::string_view name, std::string_view value) {
  if (!value.empty()) field(name, value);
}

void JsonWriter::begin(char bracket) {
  begin_item();
  out_ += bracket;
  ++depth_;
  first_ = true;
}

void JsonWriter::end(char bracket) {
  --depth_;
  if (!first_) new_line();
  out_ += bracket;
  first_ = false;
}

void JsonWriter::begin_item() {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  if (depth_ == 0) return;
  if (!first_) out_ += ',';
  first_ = false;
  new_line();
}

void JsonWriter::new_line() {
  if (compact_) return;
  out_.append(1, '\n').append(2 * depth_, ' ');
}

}  // namespace sluice
