// The parts of a message in Protobuf's binary format.
//
// A message inside another one has its length in front. A writer that learns the length at the end has to move what it
// has written. A part knows its size beforehand, so the whole is written once, from front to end:
//
//   const TextField name(1, "orders");
//   const NumberField count(2, 7);
//   append(out, FieldHead(3, name.size() + count.size()), name, count);  // a message in field 3
//
// Zero and the empty text are left out: a reader assumes them. Field numbers must be less than 16, so a tag is one
// byte.
//
// Thread safety: values. A part points to its text.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace sluice::protobuf {

// A byte for every seven bits that have begun. 9/64 stands for 1/7: it rounds the same for 1 to 64 bits.
constexpr std::size_t varint_size(std::uint64_t number) {
  if (number < 0x80) [[likely]]
    return 1;
  return (static_cast<std::size_t>(std::bit_width(number | 1)) * 9 + 64) / 64;
}
inline char* write_varint(std::uint64_t number, char* to) {
  for (; number >= 0x80; number >>= 7) *to++ = static_cast<char>(number | 0x80);
  *to++ = static_cast<char>(number);
  return to;
}

// Of a field with a text or a message of `content` bytes.
constexpr std::size_t field_size(std::size_t content) { return 1 + varint_size(content) + content; }

inline char* write_bytes(std::string_view bytes, char* to) { return to + bytes.copy(to, bytes.size()); }

// The tag and the length in front of a text or a message.
class FieldHead {
 public:
  constexpr FieldHead(std::uint32_t field, std::size_t content)
      : tag_(static_cast<char>(field << 3 | 2)), content_(content), size_(1 + varint_size(content)) {}

  constexpr std::size_t size() const { return size_; }
  char* write(char* to) const {
    *to++ = tag_;
    return write_varint(content_, to);
  }

 private:
  char tag_;
  std::size_t content_;
  std::size_t size_;
};

// A number that is not negative, or an enumerator.
class NumberField {
 public:
  constexpr NumberField(std::uint32_t field, std::uint64_t number)
      : tag_(static_cast<char>(field << 3)), number_(number), size_(number == 0 ? 0 : 1 + varint_size(number)) {}

  constexpr std::size_t size() const { return size_; }
  char* write(char* to) const {
    if (size_ == 0) return to;
    *to++ = tag_;
    return write_varint(number_, to);
  }

 private:
  char tag_;
  std::uint64_t number_;
  std::size_t size_;
};

class TextField {
 public:
  constexpr TextField(std::uint32_t field, std::string_view text)
      : head_(field, text.size()), text_(text), size_(text.empty() ? 0 : head_.size() + text.size()) {}

  constexpr std::size_t size() const { return size_; }
  char* write(char* to) const { return size_ == 0 ? to : write_bytes(text_, head_.write(to)); }

 private:
  FieldHead head_;
  std::string_view text_;
  std::size_t size_;
};

// Writes a message of less than 128 bytes before its length is known. `write_content` takes where the content begins,
// and returns its end.
template <class WriteContent>
char* write_short_message(std::uint32_t field, char* to, const WriteContent& write_content) {
  *to++ = static_cast<char>(field << 3 | 2);
  char* const length = to++;
  char* const end = write_content(to);
  *length = static_cast<char>(end - to);
  return end;
}

// The same for a message of any size; one of 128 to 16,383 bytes stays where it is written.
constexpr std::size_t kMaxHead = 1 + 10;  // bytes of a tag and a length
template <class WriteContent>
char* write_message(std::uint32_t field, char* to, const WriteContent& write_content) {
  constexpr std::size_t kUsualHead = 1 + 2;
  char* const begin = to + kUsualHead;
  char* const end = write_content(begin);
  const FieldHead head(field, static_cast<std::size_t>(end - begin));
  if (head.size() != kUsualHead) [[unlikely]]
    std::memmove(to + head.size(), begin, static_cast<std::size_t>(end - begin));
  head.write(to);
  return end + head.size() - kUsualHead;
}

template <class Part>
char* write(const Part& part, char* to) {
  return part.write(to);
}
inline char* write(std::string_view bytes, char* to) { return write_bytes(bytes, to); }

// Appends the parts, one behind the other. Bytes that are Protobuf already can be a part too.
template <class... Parts>
void append(std::string& out, const Parts&... parts) {
  const std::size_t before = out.size();
  out.resize_and_overwrite(before + (parts.size() + ...), [&](char* text, std::size_t) {
    char* to = text + before;
    ((to = write(parts, to)), ...);
    return to - text;
  });
}

}  // namespace sluice::protobuf
