// Parses RESP2 with hiredis' reader and builds the replies in an arena.
//
// Safe for any input: the nesting of arrays and the memory of one reply are limited. After an error every call fails
// until reset(). Not thread-safe.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "common/base/error.hpp"
#include "common/redis/arena.hpp"
#include "common/redis/reply.hpp"

struct redisReader;

namespace sluice::redis {

class ReplyReader {
 public:
  // The default limit for one reply: for its unparsed bytes, and for its memory.
  static constexpr std::size_t kMaxReplyBytes = std::size_t{1} << 20;

  explicit ReplyReader(std::size_t max_reply_bytes = kMaxReplyBytes);
  ~ReplyReader();
  ReplyReader(const ReplyReader&) = delete;
  ReplyReader& operator=(const ReplyReader&) = delete;

  // Take out all replies with next() before adding more bytes. A few KiB at a time are cheapest, because hiredis moves
  // unparsed bytes to the front of its buffer.
  void feed(std::string_view bytes);

  // Returns nullptr if more bytes are needed. A reply is valid until next() is called again. Error: `protocol`.
  Result<const Reply*> next();

  // Drops all bytes. The last reply stays valid, because its handler may call reset().
  void reset();

 private:
  struct Free {
    void operator()(redisReader* reader) const;
  };

  std::size_t max_reply_bytes_;
  Arena arena_;
  std::unique_ptr<redisReader, Free> reader_;
};

}  // namespace sluice::redis
