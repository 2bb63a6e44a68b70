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
  CommandWriter& array(std::size_t elements) {
    char head[kMaxHead];
    return raw({head, static_cast<std::size_t>(write_head('*', elements, head) - head)});
  }
  CommandWriter& bulk(std::string_view text) {
    const std::size_t before = out_.size();
    out_.resize_and_overwrite(before + kMaxHead + text.size() + kEnd.size(), [&](char* bytes, std::size_t) {
      char* to = write_head('$', text.size(), bytes + before);
      to += text.copy(to, text.size());
      to += kEnd.copy(to, kEnd.size());
      return to - bytes;
    });
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
  static constexpr std::string_view kEnd = "\r\n";
  static constexpr std::size_t kMaxHead = 24;  // bytes

  static char* write_head(char mark, std::size_t number, char* to) {
    *to = mark;
    to = std::to_chars(to + 1, to + kMaxHead - kEnd.size(), number).ptr;
    return to + kEnd.copy(to, kEnd.size());
  }

  std::string& out_;
};

}  // namespace sluice::redis
