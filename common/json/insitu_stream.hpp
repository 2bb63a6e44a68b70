// An input stream for RapidJSON's in-place parsing: the parser unescapes strings inside the text that it reads.
// RapidJSON's own InsituStringStream needs a text that ends with NUL, which a request body lacks.
//
// After its end, the stream returns NUL. Compare Tell() with the size to recognise a NUL inside the text.
//
// Thread safety: none. Invariants: begin_ ≤ src_ ≤ end_; writes stay below end_.
#pragma once

#include <rapidjson/reader.h>

#include <array>
#include <cstddef>
#include <span>
#include <type_traits>

namespace sluice::json {

// RapidJSON's Stream concept prescribes the names of the members.
class InsituStream {
 public:
  using Ch = char;

  explicit InsituStream(std::span<char> text)
      : begin_(text.data()), src_(begin_), dst_(begin_), end_(begin_ + text.size()) {}

  char Peek() const { return src_ != end_ ? *src_ : '\0'; }
  char Take() { return src_ != end_ ? *src_++ : '\0'; }
  std::size_t Tell() const { return static_cast<std::size_t>(src_ - begin_); }

  // Unescaping never lengthens a text. But if the end cuts off a UTF-8 sequence, RapidJSON writes beyond the end, so
  // Put() stops there.
  char* PutBegin() { return dst_ = src_; }
  void Put(char c) {
    if (dst_ != end_) *dst_++ = c;
  }
  std::size_t PutEnd(const char* begin) const { return static_cast<std::size_t>(dst_ - begin); }

  // Copies the plain bytes (kPlain) that come next. Returns whether there were any.
  bool copy_plain() {
    char* from = src_;
    char* to = dst_;
    while (from != end_ && kPlain[static_cast<unsigned char>(*from)]) *to++ = *from++;
    const bool any = from != src_;
    src_ = from;
    dst_ = to;
    return any;
  }

  // Makes the text end at Tell(), so the parser fails inside the value it is reading.
  void stop() { end_ = src_; }

 private:
  static constexpr std::array<bool, 256> kPlain = [] {
    std::array<bool, 256> plain{};
    for (std::size_t c = 0x20; c < 0x80; ++c) plain[c] = c != '"' && c != '\\';
    return plain;
  }();

  char* begin_;
  char* src_;
  char* dst_;
  char* end_;
};

// Makes UTF-8 validation of an InsituStream faster.
struct PlainRunsUtf8 : rapidjson::UTF8<> {
  template <class In, class Out>
  static bool Validate(In& in, Out& out) {
    if constexpr (std::is_same_v<In, Out>) {
      if (in.copy_plain()) return true;
    }
    return UTF8::Validate(in, out);
  }
};

// Refuses unpaired surrogates: RapidJSON itself accepts a low surrogate without a high one ("\udc00").
struct InsituUtf8 : PlainRunsUtf8 {
  // stop() makes the parser fail right after the surrogate: it reports a missing quotation mark.
  template <class Out>
  static void Encode(Out& out, unsigned codepoint) {
    if constexpr (std::is_same_v<Out, InsituStream>) {
      if (codepoint >= 0xD800 && codepoint <= 0xDFFF) out.stop();
    }
    UTF8::Encode(out, codepoint);
  }
};
using InsituReader = rapidjson::GenericReader<InsituUtf8, InsituUtf8>;

}  // namespace sluice::json

namespace rapidjson {

// Lets the parser read from a copy of the stream. The parser takes a number's text through the original stream, which
// still points to the start of the number.
template <>
struct StreamTraits<sluice::json::InsituStream> {
  enum { copyOptimization = 1 };
};

}  // namespace rapidjson
