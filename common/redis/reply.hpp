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
  // "NOSCRIPT", "READONLY", …
  std::string_view error_code() const { return text.substr(0, text.find(' ')); }
};

// Whether the reply says that Redis can do nothing for now, whatever the command.
inline bool is_unable(const Reply& reply) {
  if (!reply.is_error()) return false;
  const std::string_view code = reply.error_code();
  return code == "LOADING" || code == "BUSY" || code == "OOM" || code == "NOREPLICAS" || code == "MISCONF" ||
         code == "MASTERDOWN";
}

}  // namespace sluice::redis
