// A private redis-server for a test: own folder, Unix socket and loopback port; gone with the object, whatever happens.
//
// Not thread-safe. Make it on a thread that lives as long as the server shall: the kernel kills the server when that
// thread dies (PR_SET_PDEATHSIG), so that a crashed test leaves none behind. Failures throw std::runtime_error, with
// the end of the server's log.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace sluice::test {

// A port of the loopback that nobody listens on now.
std::uint16_t free_port();

// A new folder under the system's temporary one, short enough for Unix sockets; removed with the object.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

class RedisServer {
 public:
  struct Options {
    std::string binary = "redis-server";        // or a path: another version, Valkey
    bool tcp = true;                            // else the Unix socket only
    std::vector<std::string> config{};          // lines of redis.conf, after ours
    std::vector<std::string> environment{};     // NAME=value, on top of ours: "LD_PRELOAD=…"
    std::chrono::milliseconds patience{20000};  // until it answers PING
  };

  RedisServer() : RedisServer(Options{}) {}
  explicit RedisServer(Options options);  // returns when it answers PING (with PONG, or by asking for a password)
  ~RedisServer();
  RedisServer(const RedisServer&) = delete;
  RedisServer& operator=(const RedisServer&) = delete;

  std::string unix_path() const { return (folder_.path() / "redis.sock").string(); }
  std::string unix_url() const { return "unix:" + unix_path(); }
  std::uint16_t port() const { return port_; }  // 0 without TCP
  std::string tcp_url() const { return "redis://127.0.0.1:" + std::to_string(port_); }
  const std::filesystem::path& folder() const { return folder_.path(); }
  pid_t pid() const { return pid_; }

  void pause();    // SIGSTOP: it takes connections and bytes, and answers nothing
  void resume();   // SIGCONT
  void kill();     // SIGKILL, and waits for its end
  void restart();  // on the same addresses, with the same configuration; kills it first where it runs
  void start_again(bool wait_until_ready = true);  // REQUIRES: killed

  // One command on a connection of its own, before it AUTH `password` where one is given. The reply as text: integers
  // in decimal, errors as "-ERR …", nil as "(nil)", arrays one element a line. Blocks for at most 5 s.
  std::string command(const std::vector<std::string>& words, const std::string& password = "");

 private:
  void write_config();
  void spawn();
  bool await_ready();
  std::string log_tail() const;

  Options options_;
  TemporaryFolder folder_;
  std::uint16_t port_ = 0;
  pid_t pid_ = -1;
};

}  // namespace sluice::test
