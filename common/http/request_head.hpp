// The head of a request: finds its end, parses it, and refuses framing that two parties could read differently.
// Boost.Beast parses lines and fields; the rules of RFC 9112 that Beast 1.81 does not enforce are checked here.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "common/http/refusal.hpp"

namespace sluice::http {

inline constexpr std::size_t kMaxHeadBytes = 65'535;  // offsets are 16 bits wide
inline constexpr std::size_t kMaxFields = 100;        // more are refused with 431

struct TextRange {
  std::uint16_t offset = 0;  // from the head's first byte, so the bytes may move
  std::uint16_t size = 0;

  std::string_view in(const char* head) const { return {head + offset, size}; }
};

struct HeaderField {
  TextRange name;  // parse_head() converts it to lower case in place
  TextRange value;
};

struct RequestHead {
  TextRange method;
  TextRange target;
  TextRange path;
  TextRange query;
  TextRange content_type;
  TextRange content_encoding;
  std::uint64_t content_length = 0;
  bool has_length = false;
  bool chunked = false;
  bool http11 = false;
  bool keep_alive = false;
  bool expects_continue = false;
  std::uint16_t field_count = 0;
  std::array<HeaderField, kMaxFields> fields;  // the first field_count are set

  bool has_body() const { return chunked || content_length > 0; }
};

// Searches for the blank line that ends a head. It reads each byte only once, even if the head arrives in many pieces.
class HeadScan {
 public:
  // Returns the size of the head, or 0 if more bytes are needed or `refusal` was set (431 for a head above `limit`
  // bytes, otherwise 400). `data` starts at the head's first byte in every call.
  std::size_t find_end(const char* data, std::size_t size, std::size_t limit, std::optional<Refusal>& refusal);

 private:
  std::size_t scanned_ = 0;
  std::size_t line_ = 0;  // where the current line starts
};

// REQUIRES: `data` is a complete head, including its blank line; size <= kMaxHeadBytes.
std::optional<Refusal> parse_head(char* data, std::size_t size, RequestHead& head);

}  // namespace sluice::http
