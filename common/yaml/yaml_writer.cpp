#include "common/yaml/yaml_writer.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "common/json/text.hpp"

namespace sluice::yaml {
namespace {

using json::Type;
using json::Value;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// The words that YAML 1.1 or 1.2 reads as something else than a text, in lower case.
constexpr std::array<std::string_view, 9> kWords{"y", "n", "yes", "no", "on", "off", "true", "false", "null"};

bool is_word(std::string_view text) {
  return std::ranges::any_of(kWords, [text](std::string_view word) {
    return std::ranges::equal(text, word, [](char a, char b) { return (a | 0x20) == b; });
  });
}

// Begins with a letter, so it is no number, date or indicator.
bool is_plain(std::string_view text) {
  const auto in_word = [](char c) {
    return is_letter(c) || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.' || c == '/';
  };
  return !text.empty() && is_letter(text.front()) && std::ranges::all_of(text, in_word) && !is_word(text);
}

// A JSON string is a double-quoted scalar. append_string() escapes what YAML reads as a line break.
void append_text(std::string& out, std::string_view text) {
  if (is_plain(text)) {
    out += text;
  } else {
    json::append_string(out, text);
  }
}

class BlockWriter {
 public:
  explicit BlockWriter(std::string& out) : out_(out) {}

  // Writes a value behind "name:" or "-", or alone. REQUIRES: a block of a map or list begins at `indent`.
  void value(const Value& value, std::size_t indent) {
    switch (value.type()) {
      case Type::null:
        out_ += "null";
        break;
      case Type::boolean:
        out_ += value.boolean() ? "true" : "false";
        break;
      case Type::number:
        out_ += value.text();
        break;
      case Type::string:
        append_text(out_, value.text());
        break;
      case Type::array:
        return list(value, indent);
      case Type::object:
        return map(value, indent);
    }
    out_ += '\n';
  }

  static bool is_block(const Value& value) {
    return (value.type() == Type::array && !value.items().empty()) ||
           (value.type() == Type::object && !value.members().empty());
  }

 private:
  void indent_to(std::size_t indent, bool& first) {
    if (!first) out_.append(indent, ' ');
    first = false;
  }

  // The first line of a block stands where the caller has written to.
  void list(const Value& value, std::size_t indent) {
    if (value.items().empty()) {
      out_ += "[]\n";
      return;
    }
    bool first = true;
    for (const Value& item : value.items()) {
      indent_to(indent, first);
      out_ += "- ";
      this->value(item, indent + 2);
    }
  }

  void map(const Value& value, std::size_t indent) {
    if (value.members().empty()) {
      out_ += "{}\n";
      return;
    }
    bool first = true;
    for (const json::Member& member : value.members()) {
      indent_to(indent, first);
      append_text(out_, member.name);
      out_ += ':';
      if (!is_block(member.value)) {
        out_ += ' ';
        this->value(member.value, indent);
        continue;
      }
      out_ += '\n';
      out_.append(indent + 2, ' ');
      this->value(member.value, indent + 2);
    }
  }

  std::string& out_;
};

}  // namespace

std::string yaml_of_json(const Value& document) {
  std::string out;
  BlockWriter(out).value(document, 0);
  return out;
}

}  // namespace sluice::yaml
