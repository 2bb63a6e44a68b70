// RapidJSON's in-place stream with a length: InsituStringStream stops at the first NUL, so bytes behind one would be
// ignored, and it needs a terminator that a request's body does not have.
//
// Thread safety: one reader at a time. Invariants: begin_ ≤ src_ ≤ end_, writes stay below end_.
// Behind the end it reads NUL, as RapidJSON expects; a caller that cares whether a NUL was the end or a byte of the
// document compares Tell() with the size afterwards.
#pragma once

#include <rapidjson/reader.h>

#include <array>
#include <cstddef>
#include <span>
#include <type_traits>

namespace sluice::json {

// The names are RapidJSON's Stream concept.
class InsituStream {
 public:
  using Ch = char;

  explicit InsituStream(std::span<char> text)
      : begin_(text.data()), src_(begin_), dst_(begin_), end_(begin_ + text.size()) {}

  char Peek() const { return src_ != end_ ? *src_ : '\0'; }
  char Take() { return src_ != end_ ? *src_++ : '\0'; }
  std::size_t Tell() const { return static_cast<std::size_t>(src_ - begin_); }

  // Unescaping never makes a text longer, so what is written stays behind what was read; only the validation of a
  // UTF-8 sequence that the end cuts off "takes" more than there is.
  char* PutBegin() { return dst_ = src_; }
  void Put(char c) {
    if (dst_ != end_) *dst_++ = c;
  }
  std::size_t PutEnd(const char* begin) const { return static_cast<std::size_t>(dst_ - begin); }

  // Takes and puts all bytes up to the first that ends, escapes or is not plain ASCII; false where there is none.
  bool copy_plain() {
    char* from = src_;
    char* to = dst_;
    while (from != end_ && kPlain[static_cast<unsigned char>(*from)]) *to++ = *from++;
    const bool any = from != src_;
    src_ = from;
    dst_ = to;
    return any;
  }

  // Ends the text here: what the reader is in the middle of fails, and its handler never sees it.
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

// UTF-8 for the reader over this stream: plain runs are taken at once.
struct PlainRunsUtf8 : rapidjson::UTF8<> {
  template <class In, class Out>
  static bool Validate(In& in, Out& out) {
    if constexpr (std::is_same_v<In, Out>) {
      if (in.copy_plain()) return true;
    }
    return UTF8::Validate(in, out);
  }
};

// The same, and half characters are refused.
struct InsituUtf8 : PlainRunsUtf8 {
  // The reader pairs surrogates, but lets a low one without its high one ("\udc00") through.
  // Stopped within a string, it reports a missing quotation mark.
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

// The reader works on a copy in registers. Reading numbers as text relies on it: PutBegin() of the original is where
// the number begins.
template <>
struct StreamTraits<sluice::json::InsituStream> {
  enum { copyOptimization = 1 };
};

}  // namespace rapidjson
