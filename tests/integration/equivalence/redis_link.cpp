#include "tests/integration/equivalence/redis_link.hpp"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "common/redis/command_writer.hpp"

namespace sluice::test {
namespace {

[[noreturn]] void fail(const std::string& what) { throw std::runtime_error(what + ": " + std::strerror(errno)); }

}  // namespace

RedisLink::RedisLink(const std::string& unix_path)
    : fd_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)), buffer_(65536) {
  const timeval patience{.tv_sec = 60, .tv_usec = 0};
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  unix_path.copy(address.sun_path, sizeof address.sun_path - 1);
  if (fd_ < 0 || ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) != 0 ||
      ::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    fail("cannot connect to " + unix_path);
  }
}

RedisLink::~RedisLink() { ::close(fd_); }

void RedisLink::send(std::string_view commands) {
  while (!commands.empty()) {
    const ssize_t sent = ::send(fd_, commands.data(), commands.size(), MSG_NOSIGNAL);
    if (sent <= 0) fail("the server took no commands");
    commands.remove_prefix(static_cast<std::size_t>(sent));
  }
}

const redis::Reply& RedisLink::next() {
  for (;;) {
    const auto reply = reader_.next();
    if (!reply) throw std::runtime_error("the server's reply: " + reply.error().text);
    if (*reply != nullptr) return **reply;
    const ssize_t size = ::recv(fd_, buffer_.data(), buffer_.size(), 0);
    if (size <= 0) fail("the server gave no reply");
    reader_.feed({buffer_.data(), static_cast<std::size_t>(size)});
  }
}

void RedisLink::receive(std::size_t count, const std::function<void(std::size_t, const redis::Reply&)>& each) {
  for (std::size_t i = 0; i < count; ++i) each(i, next());
}

const redis::Reply& RedisLink::ask(std::initializer_list<std::string_view> words) {
  std::string command;
  redis::CommandWriter writer(command);
  writer.array(words.size());
  for (std::string_view word : words) writer.bulk(word);
  send(command);
  const redis::Reply& reply = next();
  if (reply.is_error()) throw std::runtime_error("the server's reply: " + std::string(reply.text));
  return reply;
}

}  // namespace sluice::test
