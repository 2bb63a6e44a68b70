// Parses RESP2 with hiredis' reader and builds the replies in an arena.
//
// Safe for any input: the result is a reply, "more bytes needed" or an error. The nesting of arrays is limited (hiredis
// allows 7 levels below the first), and so is the memory of one reply. After an error every call fails until reset().
// No I/O. Not thread-safe.
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
  // Default limit for the unparsed bytes of one reply and for the memory it is built in. Replies to Sluice's scripts
  // have a few hundred bytes.
  static constexpr std::size_t kMaxReplyBytes = std::size_t{1} << 20;

  explicit ReplyReader(std::size_t max_reply_bytes = kMaxReplyBytes);
  ~ReplyReader();
  ReplyReader(const ReplyReader&) = delete;
  ReplyReader& operator=(const ReplyReader&) = delete;

  // Adds bytes. Take out all replies with next() before adding more. A few KiB at a time are cheapest, because hiredis
  // moves unparsed bytes to the front of its buffer.
  void feed(std::string_view bytes);

  // The next complete reply, valid until the next call; nullptr: more bytes are needed. Error: `protocol`.
  Result<const Reply*> next();

  // Drops all bytes, for a new connection. The last reply stays valid, because reset() may be called by the handler of
  // that reply.
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
