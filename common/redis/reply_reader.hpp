// Parses RESP2 and builds the replies in an arena.
//
// A reply may arrive in pieces: an array keeps the elements that it has, and only the value that is cut is read again
// from its start.
//
// Safe for any input: the nesting of arrays, the length of lines and the memory of one reply are limited. After an
// error every call fails until reset(). Not thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/error.hpp"
#include "common/redis/arena.hpp"
#include "common/redis/reply.hpp"

namespace sluice::redis {

class ReplyReader {
 public:
  // The default limit for one reply: for its unparsed bytes, and for its memory.
  static constexpr std::size_t kMaxReplyBytes = std::size_t{1} << 20;
  static constexpr std::size_t kMaxDepth = 7;  // of arrays in arrays
  static constexpr std::size_t kMaxLineBytes = std::size_t{64} << 10;

  explicit ReplyReader(std::size_t max_reply_bytes = kMaxReplyBytes)
      : max_reply_bytes_(max_reply_bytes), arena_(max_reply_bytes) {}
  ReplyReader(const ReplyReader&) = delete;
  ReplyReader& operator=(const ReplyReader&) = delete;

  // Take out all replies with next() before adding more bytes: what is left is moved.
  void feed(std::string_view bytes);

  // Returns nullptr if more bytes are needed. A reply is valid until next() is called again. Error: `protocol`.
  Result<const Reply*> next();

  // Drops all bytes. The last reply stays valid, because its handler may call reset().
  void reset();

 private:
  enum class Step : std::uint8_t { read, needs_more, broken };
  // Elements of an array that are not read yet.
  struct Unread {
    Reply* next = nullptr;
    Reply* end = nullptr;
  };

  bool begin();
  Step read(Reply& reply);
  Step read_number(std::int64_t& number);
  Step read_integer(Reply& reply);
  Step read_line(Reply& reply, Reply::Type type);
  Step read_bulk(Reply& reply);
  Step read_array(Reply& reply);
  Step take_text(Reply& reply, Reply::Type type, std::size_t begin, std::size_t size);
  Result<const Reply*> fail(const char* fault);

  const std::size_t max_reply_bytes_;
  Arena arena_;
  std::string bytes_;
  std::string_view rest_;                     // of bytes_: what is not read yet
  Reply* reply_ = nullptr;                    // that is being read; nullptr between two replies
  std::array<Unread, 1 + kMaxDepth> unread_;  // reply_ itself, then its open arrays, the innermost last
  std::size_t open_ = 0;                      // elements of `unread_` in use
  const char* fault_ = nullptr;
};

}  // namespace sluice::redis
