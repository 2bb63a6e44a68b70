// An input stream for RapidJSON's in-place parsing: the parser unescapes strings inside the text that it reads. This
// stream knows the length of the text. RapidJSON's own InsituStringStream needs a NUL at the end, which a request body
// lacks, and ignores everything after a NUL inside the text.
//
// After the end the stream returns NUL, as RapidJSON expects. To tell that NUL from one in the document, a caller
// compares Tell() with the size.
//
// Thread safety: one reader at a time. Invariants: begin_ ≤ src_ ≤ end_; writes stay below end_.
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

  // Unescaping never lengthens a text, so writing never overtakes reading. One exception: if the end of the text cuts
  // off a UTF-8 sequence, RapidJSON reads beyond the end. It would also write there, so Put() stops at the end.
  char* PutBegin() { return dst_ = src_; }
  void Put(char c) {
    if (dst_ != end_) *dst_++ = c;
  }
  std::size_t PutEnd(const char* begin) const { return static_cast<std::size_t>(dst_ - begin); }

  // Copies all bytes before the next quote, backslash, control character or non-ASCII byte. Returns false if there are
  // none to copy.
  bool copy_plain() {
    char* from = src_;
    char* to = dst_;
    while (from != end_ && kPlain[static_cast<unsigned char>(*from)]) *to++ = *from++;
    const bool any = from != src_;
    src_ = from;
    dst_ = to;
    return any;
  }

  // Makes the text end at Tell(). The value that the parser is reading is then incomplete: the parser fails, and its
  // handler does not get the value.
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

// RapidJSON's UTF-8 encoding, for parsers of an InsituStream. Copies many characters at once with copy_plain().
struct PlainRunsUtf8 : rapidjson::UTF8<> {
  template <class In, class Out>
  static bool Validate(In& in, Out& out) {
    if constexpr (std::is_same_v<In, Out>) {
      if (in.copy_plain()) return true;
    }
    return UTF8::Validate(in, out);
  }
};

// As PlainRunsUtf8, but refuses unpaired surrogates.
struct InsituUtf8 : PlainRunsUtf8 {
  // RapidJSON combines pairs of surrogates, but accepts a low surrogate without a high one ("\udc00"). After stop(),
  // RapidJSON fails there and reports a missing quotation mark.
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

// Lets the parser work on a copy of the stream in registers. Reading numbers as text needs this: the original stream
// then still points to where the number begins.
template <>
struct StreamTraits<sluice::json::InsituStream> {
  enum { copyOptimization = 1 };
};

}  // namespace rapidjson
