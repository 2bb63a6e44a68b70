#include "tests/integration/support/redis_server.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "common/redis/command_writer.hpp"
#include "common/redis/reply_reader.hpp"

extern char** environ;

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

TemporaryFolder::TemporaryFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "sluice-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) fail("no temporary folder");
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

RedisServer::RedisServer(Options options) : options_(std::move(options)) {
  // Between our looking for a free port and the server's taking it, somebody else may: then another one.
  for (int attempt = 1;; ++attempt) {
    if (options_.tcp) port_ = free_port();
    write_config();
    spawn();
    if (await_ready()) return;
    kill();
    if (attempt == 3) throw std::runtime_error(options_.binary + " did not answer PING. Its log ends:\n" + log_tail());
  }
}

RedisServer::~RedisServer() { kill(); }

void RedisServer::write_config() {
  std::ofstream config(folder_.path() / "redis.conf");
  config << "port " << port_ << "\nbind 127.0.0.1\nunixsocket " << unix_path() << "\nunixsocketperm 700\n"
         << "dir " << folder_.path().string() << "\nsave \"\"\nappendonly no\ndaemonize no\n";
  for (const std::string& line : options_.config) config << line << '\n';
  if (!config.flush()) fail("no redis.conf");
}

void RedisServer::spawn() {
  std::filesystem::remove(unix_path());
  const std::string config = (folder_.path() / "redis.conf").string();
  const std::string log = (folder_.path() / "redis.log").string();
  std::vector<std::string> variables = options_.environment;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string name(*variable, std::strcspn(*variable, "=") + 1);
    bool replaced = false;
    for (const std::string& given : options_.environment) replaced |= given.starts_with(name);
    if (!replaced) variables.emplace_back(*variable);
  }
  std::vector<char*> environment;
  for (std::string& variable : variables) environment.push_back(variable.data());
  environment.push_back(nullptr);
  const char* arguments[] = {options_.binary.c_str(), config.c_str(), nullptr};

  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ < 0) fail("fork");
  if (pid_ > 0) return;
  // The child: system calls only, from here to exec.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);
  const int out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(out, STDERR_FILENO);
  ::execvpe(arguments[0], const_cast<char* const*>(arguments), environment.data());
  ::_exit(127);
}

bool RedisServer::await_ready() {
  const auto end = std::chrono::steady_clock::now() + options_.patience;
  while (std::chrono::steady_clock::now() < end) {
    int status = 0;
    if (::waitpid(pid_, &status, WNOHANG) == pid_) {
      pid_ = -1;
      return false;
    }
    if (const Descriptor fd(connect_unix(unix_path())); fd.get() >= 0) {
      try {
        const std::string reply = exchange(fd.get(), {"PING"});
        if (reply == "PONG" || reply.starts_with("-NOAUTH")) return true;
      } catch (const std::runtime_error&) {  // it ends while we ask: waitpid() tells in the next round
      }
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return false;
}

void RedisServer::pause() {
  ::kill(pid_, SIGSTOP);
  int status = 0;
  if (::waitpid(pid_, &status, WUNTRACED) != pid_ || !WIFSTOPPED(status)) fail("redis-server did not stop");
}
void RedisServer::resume() { ::kill(pid_, SIGCONT); }

void RedisServer::kill() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
}

void RedisServer::restart() {
  kill();
  start_again();
}

void RedisServer::start_again(bool wait_until_ready) {
  spawn();
  if (wait_until_ready && !await_ready()) {
    throw std::runtime_error(options_.binary + " did not come back. Its log ends:\n" + log_tail());
  }
}

std::string RedisServer::command(const std::vector<std::string>& words, const std::string& password) {
  const Descriptor fd(connect_unix(unix_path()));
  if (fd.get() < 0) fail("redis-server does not listen");
  if (!password.empty()) exchange(fd.get(), {"AUTH", password});
  return exchange(fd.get(), words);
}

std::string RedisServer::log_tail() const {
  std::ifstream log(folder_.path() / "redis.log");
  std::ostringstream text;
  text << log.rdbuf();
  const std::string all = text.str();
  return all.size() > 2000 ? all.substr(all.size() - 2000) : all;
}

}  // namespace sluice::test
