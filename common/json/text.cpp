#include "common/json/text.hpp"

#include <fmt/format.h>
#include <array>
#include <cstddef>

#include "common/base/utf8.hpp"

namespace sluice::json {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

// Bytes that need no escaping.
constexpr std::array<bool, 256> kPlain = [] {
  std::array<bool, 256> plain{};
  for (std::size_t c = 0x20; c < 0x7F; ++c) plain[c] = c != '"' && c != '\\';
  return plain;
}();

unsigned char byte_at(std::string_view text, std::size_t i) { return static_cast<unsigned char>(text[i]); }

void append_unicode_escape(std::string& out, unsigned code_unit) {
  constexpr std::string_view kHex = "0123456789abcdef";
  const char escape[] = {'\\',
                         'u',
                         kHex[code_unit >> 12 & 0xF],
                         kHex[code_unit >> 8 & 0xF],
                         kHex[code_unit >> 4 & 0xF],
                         kHex[code_unit & 0xF]};
  out.append(escape, sizeof escape);
}

void append_ascii_escape(std::string& out, unsigned char c) {
  switch (c) {
    case '"':
      out.append("\\\"");
      return;
    case '\\':
      out.append("\\\\");
      return;
    case '\n':
      out.append("\\n");
      return;
    case '\r':
      out.append("\\r");
      return;
    case '\t':
      out.append("\\t");
      return;
    default:
      append_unicode_escape(out, c);
      return;
  }
}

// Returns the length of the character at `i` in bytes.
std::size_t append_special(std::string& out, std::string_view text, std::size_t i) {
  const unsigned char lead = byte_at(text, i);
  if (lead < 0x80) {
    append_ascii_escape(out, lead);
    return 1;
  }
  const std::size_t length = utf8_sequence(text, i);
  if (length == 0) {
    out.append(kReplacement);
    return 1;
  }
  const std::string_view sequence = text.substr(i, length);
  if (length == 2 && lead == 0xC2 && byte_at(text, i + 1) < 0xA0) {
    append_unicode_escape(out, byte_at(text, i + 1));  // C1 controls: U+009B starts a terminal's escape sequence
  } else if (sequence == "\xE2\x80\xA8" || sequence == "\xE2\x80\xA9") {
    append_unicode_escape(out, 0x2000u | (byte_at(text, i + 2) & 0x3Fu));
  } else {
    out.append(sequence);
  }
  return length;
}

}  // namespace

void append_string(std::string& out, std::string_view text) {
  out.push_back('"');
  std::size_t begin = 0;
  while (begin < text.size()) {
    std::size_t end = begin;
    while (end < text.size() && kPlain[byte_at(text, end)]) ++end;
    out.append(text.substr(begin, end - begin));
    begin = end;
    if (begin < text.size()) begin += append_special(out, text, begin);
  }
  out.push_back('"');
}

std::string string_literal(std::string_view text) {
  std::string out;
  append_string(out, text);
  return out;
}

void append_integer(std::string& out, std::int64_t value) {
  const fmt::format_int digits(value);  // faster than to_chars: it writes two digits at a time
  out.append(digits.data(), digits.size());
}

}  // namespace sluice::json
