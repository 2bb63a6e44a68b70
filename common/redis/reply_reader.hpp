// Bytes in, replies out: hiredis' RESP2 reader, building into an arena.
//
// Not thread-safe; no I/O. Whatever the bytes are, the outcome is a reply, "not yet" or an error: nesting (hiredis: 7
// levels below the first) and memory of one reply are bounded. Once broken it stays so until reset().
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
  // Of one reply: its bytes on the wire not yet parsed, and the memory it is built into. Ours are a few hundred bytes.
  static constexpr std::size_t kMaxReplyBytes = std::size_t{1} << 20;

  explicit ReplyReader(std::size_t max_reply_bytes = kMaxReplyBytes);
  ~ReplyReader();
  ReplyReader(const ReplyReader&) = delete;
  ReplyReader& operator=(const ReplyReader&) = delete;

  // Adds bytes. Take all replies out with next() before adding more; a few KiB at a time are cheapest, because hiredis
  // moves what is left to the front of its buffer now and then.
  void feed(std::string_view bytes);

  // The next whole reply, or nullptr: more bytes are needed. The reply lives until the next call of next().
  // Error: `protocol`.
  Result<const Reply*> next();

  // Forgets all bytes, for a new connection. The last reply stays valid: its handler may be what closed the connection.
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
