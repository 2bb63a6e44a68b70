// Copies and compares texts that are mostly short, as names and identities are. Two words that may overlap take less
// time than a call of the C library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace sluice {
namespace short_text {

template <class Word>
Word word_at(const char* at) {
  Word word;
  std::memcpy(&word, at, sizeof word);
  return word;
}

// REQUIRES: both are of sizeof(Word) to 2 * sizeof(Word) bytes.
template <class Word>
bool same_words(const char* a, const char* b, std::size_t size) {
  const std::size_t last = size - sizeof(Word);
  return ((word_at<Word>(a) ^ word_at<Word>(b)) | (word_at<Word>(a + last) ^ word_at<Word>(b + last))) == 0;
}
template <class Word>
void copy_words(const char* from, std::size_t size, char* to) {
  const std::size_t last = size - sizeof(Word);
  const Word first_word = word_at<Word>(from), last_word = word_at<Word>(from + last);
  std::memcpy(to, &first_word, sizeof first_word);
  std::memcpy(to + last, &last_word, sizeof last_word);
}

}  // namespace short_text

// Whether `size` bytes at `a` and `b` are the same.
inline bool are_same(const char* a, const char* b, std::size_t size) {
  if (size - 8 <= 8) return short_text::same_words<std::uint64_t>(a, b, size);
  if (size - 4 < 4) return short_text::same_words<std::uint32_t>(a, b, size);
  return size == 0 || std::memcmp(a, b, size) == 0;
}
inline bool are_same(std::string_view a, std::string_view b) {
  return a.size() == b.size() && are_same(a.data(), b.data(), a.size());
}

// Returns the end of what it wrote. REQUIRES: `to` has room, and is no part of `text`.
inline char* put_text(std::string_view text, char* to) {
  const std::size_t size = text.size();
  if (size - 8 <= 8) {
    short_text::copy_words<std::uint64_t>(text.data(), size, to);
  } else if (size - 4 < 4) {
    short_text::copy_words<std::uint32_t>(text.data(), size, to);
  } else if (size > 0) {
    std::memcpy(to, text.data(), size);
  }
  return to + size;
}

}  // namespace sluice
