// Cuts the body of a request into messages. Each message has a prefix: a flag byte, and the length in four bytes.
//
// Keeps its memory between calls, up to kKept bytes. Thread safety: none.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace sluice::grpc {

inline constexpr std::size_t kPrefix = 5;

// What stands before a message that is sent.
inline std::array<char, kPrefix> prefix_of(std::string_view message) {
  const auto size = static_cast<std::uint32_t>(message.size());
  return {0, static_cast<char>(size >> 24), static_cast<char>(size >> 16), static_cast<char>(size >> 8),
          static_cast<char>(size)};
}

class MessageReader {
 public:
  enum class Step : std::uint8_t {
    need_more,
    message,     // message() has one
    compressed,  // the flag says that the message is compressed
    malformed,   // a flag byte that gRPC does not know
    too_large,
  };

  // `limit`: the most bytes of a message.
  void begin(std::size_t limit) { limit_ = limit; }
  void push(std::string_view bytes);
  Step next();

  // The bytes stay where they are until push(), next() or clear(); whoever handles the message may change them.
  std::span<char> message() { return {buffer_.data() + at_ + kPrefix, size_}; }
  std::size_t waiting_bytes() const { return buffer_.size() - at_; }  // with the message that next() has found
  bool empty() const { return waiting_bytes() == taken(); }

  void clear();

 private:
  static constexpr std::size_t kKept = 16UL << 10;

  std::size_t taken() const { return has_message_ ? kPrefix + size_ : 0; }

  std::size_t limit_ = 0;
  std::string buffer_;
  std::size_t at_ = 0;    // where the message, or its prefix, begins in buffer_
  std::size_t size_ = 0;  // of the message that next() has found
  bool has_message_ = false;
};

}  // namespace sluice::grpc
