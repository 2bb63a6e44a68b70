// A RESP2 reply, as a tree of views into the memory of its ReplyReader.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace sluice::redis {

struct Reply {
  enum class Type : std::uint8_t { nil, integer, string, status, error, array };
  Type type = Type::nil;
  std::int64_t integer = 0;
  std::string_view text;            // string, status, error
  std::span<const Reply> elements;  // array

  bool is_error() const { return type == Type::error; }
  // The first token of an error: "NOSCRIPT", "READONLY", …
  std::string_view error_code() const { return text.substr(0, text.find(' ')); }
};

}  // namespace sluice::redis
