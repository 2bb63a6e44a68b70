// Appends RESP2 commands to a buffer, which outlives the writer.
#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::redis {

class CommandWriter {
 public:
  explicit CommandWriter(std::string& out) : out_(out) {}

  // The caller then calls bulk() for each word of the command.
  CommandWriter& array(std::size_t elements) { return head('*', elements); }
  CommandWriter& bulk(std::string_view text) {
    head('$', text.size());
    out_.append(text).append("\r\n", 2);
    return *this;
  }
  CommandWriter& bulk(std::int64_t number) {
    char digits[24];
    auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
    return bulk(std::string_view(digits, static_cast<std::size_t>(end - digits)));
  }
  // Bytes that are RESP already.
  CommandWriter& raw(std::string_view bytes) {
    out_.append(bytes);
    return *this;
  }
  std::string& buffer() { return out_; }

 private:
  CommandWriter& head(char mark, std::size_t number) {
    char text[24];
    text[0] = mark;
    auto end = std::to_chars(text + 1, text + sizeof text - 2, number).ptr;
    *end++ = '\r';
    *end++ = '\n';
    out_.append(text, static_cast<std::size_t>(end - text));
    return *this;
  }

  std::string& out_;
};

}  // namespace sluice::redis
