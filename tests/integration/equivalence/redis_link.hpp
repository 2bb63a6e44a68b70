// A blocking connection to the server under test: whole batches out, replies in.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/redis/reply.hpp"
#include "common/redis/reply_reader.hpp"

namespace sluice::test {

// Not thread-safe. Failures throw std::runtime_error.
class RedisLink {
 public:
  explicit RedisLink(const std::string& unix_path);
  ~RedisLink();
  RedisLink(const RedisLink&) = delete;
  RedisLink& operator=(const RedisLink&) = delete;

  // Sends commands; their replies wait on the connection.
  void send(std::string_view commands);
  // Reads the next `count` replies, each valid during its call only.
  void receive(std::size_t count, const std::function<void(std::size_t index, const redis::Reply&)>& each);

  // One command; an error reply throws. The reply lives until the next use of the link.
  const redis::Reply& ask(std::initializer_list<std::string_view> words);

 private:
  const redis::Reply& next();

  int fd_;
  redis::ReplyReader reader_;
  std::vector<char> buffer_;
};

}  // namespace sluice::test
