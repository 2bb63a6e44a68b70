#include "common/base/utf8.hpp"

#include <cstdint>
#include <cstring>

namespace sluice {
namespace {

template <class Word>
bool has_high_bits(const char* at) {
  constexpr auto kHighBits = static_cast<Word>(0x8080808080808080U);
  Word word;
  std::memcpy(&word, at, sizeof word);
  return (word & kHighBits) != 0;
}

// Reads words that may overlap, so that no byte is read by itself.
template <class Word>
bool is_ascii_by(std::string_view text) {
  const char* const last = text.data() + text.size() - sizeof(Word);
  for (const char* at = text.data(); at < last; at += sizeof(Word)) {
    if (has_high_bits<Word>(at)) return false;
  }
  return !has_high_bits<Word>(last);
}

unsigned char octet(std::string_view text, std::size_t i) { return static_cast<unsigned char>(text[i]); }

bool continues(std::string_view text, std::size_t i, unsigned char low, unsigned char high) {
  return i < text.size() && octet(text, i) >= low && octet(text, i) <= high;
}

}  // namespace

std::size_t utf8_sequence(std::string_view text, std::size_t i) {
  const unsigned char lead = octet(text, i);
  if (lead >= 0xC2 && lead <= 0xDF) return continues(text, i + 1, 0x80, 0xBF) ? 2 : 0;
  if (lead >= 0xE0 && lead <= 0xEF) {
    const unsigned char low = lead == 0xE0 ? 0xA0 : 0x80;   // lower bytes make overlong forms
    const unsigned char high = lead == 0xED ? 0x9F : 0xBF;  // higher bytes make surrogates
    return continues(text, i + 1, low, high) && continues(text, i + 2, 0x80, 0xBF) ? 3 : 0;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    const unsigned char low = lead == 0xF0 ? 0x90 : 0x80;   // lower bytes make overlong forms
    const unsigned char high = lead == 0xF4 ? 0x8F : 0xBF;  // higher bytes lead beyond U+10FFFF
    const bool valid =
        continues(text, i + 1, low, high) && continues(text, i + 2, 0x80, 0xBF) && continues(text, i + 3, 0x80, 0xBF);
    return valid ? 4 : 0;
  }
  return 0;
}

bool is_ascii(std::string_view text) {
  if (text.size() >= sizeof(std::uint64_t)) return is_ascii_by<std::uint64_t>(text);
  if (text.size() >= sizeof(std::uint32_t)) return is_ascii_by<std::uint32_t>(text);
  return text.empty() || is_ascii_by<std::uint8_t>(text);
}

bool is_utf8(std::string_view text) {
  if (is_ascii(text)) return true;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = octet(text, i) < 0x80 ? 1 : utf8_sequence(text, i);
    if (length == 0) return false;
    i += length;
  }
  return true;
}

std::string_view utf8_prefix(std::string_view text, std::size_t max_bytes) {
  if (text.size() <= max_bytes) return text;
  std::size_t end = max_bytes;
  while (end > 0 && (octet(text, end) & 0xC0) == 0x80) --end;  // 10xxxxxx continues a character
  return text.substr(0, end);
}

}  // namespace sluice
