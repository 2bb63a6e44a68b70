#include "tests/integration/support/redis_server.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <thread>

#include "common/redis/command_writer.hpp"
#include "common/redis/reply_reader.hpp"

namespace sluice::test {
namespace {

[[noreturn]] void fail(const std::string& what) { throw std::runtime_error(what + ": " + std::strerror(errno)); }

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

// A blocking connection to the Unix socket, with a limit on every read and write; -1 where nobody listens.
int connect_unix(const std::string& path) {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) fail("socket");
  const timeval limit{.tv_sec = 5, .tv_usec = 0};
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return fd;
  ::close(fd);
  return -1;
}

std::string to_text(const redis::Reply& reply) {
  switch (reply.type) {
    case redis::Reply::Type::nil:
      return "(nil)";
    case redis::Reply::Type::integer:
      return std::to_string(reply.integer);
    case redis::Reply::Type::error:
      return "-" + std::string(reply.text);
    case redis::Reply::Type::array: {
      std::string lines;
      for (const redis::Reply& element : reply.elements) lines += (lines.empty() ? "" : "\n") + to_text(element);
      return lines;
    }
    default:
      return std::string(reply.text);
  }
}

std::string exchange(int fd, const std::vector<std::string>& words) {
  std::string request;
  redis::CommandWriter writer(request);
  writer.array(words.size());
  for (const std::string& word : words) writer.bulk(std::string_view(word));
  for (std::size_t sent = 0; sent < request.size();) {
    const ssize_t size = ::send(fd, request.data() + sent, request.size() - sent, MSG_NOSIGNAL);
    if (size <= 0) fail("redis-server took no command");
    sent += static_cast<std::size_t>(size);
  }
  redis::ReplyReader reader(std::size_t{64} << 20);
  for (;;) {
    char buffer[4096];
    const ssize_t size = ::recv(fd, buffer, sizeof buffer, 0);
    if (size <= 0) fail("redis-server gave no reply");
    reader.feed({buffer, static_cast<std::size_t>(size)});
    const auto reply = reader.next();
    if (!reply) throw std::runtime_error("redis-server: " + reply.error().text);
    if (*reply != nullptr) return to_text(**reply);
  }
}

}  // namespace

std::uint16_t free_port() {
  const Descriptor probe(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (::bind(probe.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      ::getsockname(probe.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    fail("no free port");
  }
  return ntohs(address.sin_port);
}

RedisServer::RedisServer(Options options) : options_(std::move(options)) {
  // Between our looking for a free port and the server's taking it, somebody else may: then another one.
  for (int attempt = 1;; ++attempt) {
    if (options_.tcp) port_ = free_port();
    write_config();
    spawn();
    if (await_ready()) return;
    kill();
    if (attempt < 3) continue;
    throw std::runtime_error(options_.binary + " did not answer PING. Its log ends:\n" + process_.log_tail());
  }
}

void RedisServer::write_config() {
  std::ofstream config(folder_.path() / "redis.conf");
  config << "port " << port_ << "\nbind 127.0.0.1\nunixsocket " << unix_path() << "\nunixsocketperm 700\n"
         << "dir " << folder_.path().string() << "\nsave \"\"\nappendonly no\ndaemonize no\n";
  for (const std::string& line : options_.config) config << line << '\n';
  if (!config.flush()) fail("no redis.conf");
}

void RedisServer::spawn() {
  std::filesystem::remove(unix_path());
  process_.start({.words = {options_.binary, (folder_.path() / "redis.conf").string()},
                  .log = folder_.path() / "redis.log",
                  .environment = options_.environment});
}

bool RedisServer::await_ready() {
  const auto end = std::chrono::steady_clock::now() + options_.patience;
  while (std::chrono::steady_clock::now() < end) {
    if (!process_.running()) return false;
    if (const Descriptor fd(connect_unix(unix_path())); fd.get() >= 0) {
      try {
        const std::string reply = exchange(fd.get(), {"PING"});
        if (reply == "PONG" || reply.starts_with("-NOAUTH")) return true;
      } catch (const std::runtime_error&) {  // it ends while we ask: running() tells in the next round
      }
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return false;
}

void RedisServer::restart() {
  kill();
  start_again();
}

void RedisServer::start_again(bool wait_until_ready) {
  spawn();
  if (wait_until_ready && !await_ready()) {
    throw std::runtime_error(options_.binary + " did not come back. Its log ends:\n" + process_.log_tail());
  }
}

std::string RedisServer::command(const std::vector<std::string>& words, const std::string& password) {
  const Descriptor fd(connect_unix(unix_path()));
  if (fd.get() < 0) fail("redis-server does not listen");
  if (!password.empty()) exchange(fd.get(), {"AUTH", password});
  return exchange(fd.get(), words);
}

}  // namespace sluice::test
