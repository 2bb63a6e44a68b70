// A private redis-server for a test: own folder, Unix socket and loopback port; gone with the object, whatever happens.
//
// Not thread-safe. Make it on a thread that lives as long as the server shall (see ChildProcess). Failures throw
// std::runtime_error, with the end of the server's log.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/integration/support/child_process.hpp"
#include "tests/integration/support/temporary_folder.hpp"

namespace sluice::test {

// A port of the loopback that nobody listens on now.
std::uint16_t free_port();

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

  std::string unix_path() const { return (folder_.path() / "redis.sock").string(); }
  std::string unix_url() const { return "unix:" + unix_path(); }
  std::uint16_t port() const { return port_; }  // 0 without TCP
  std::string tcp_url() const { return "redis://127.0.0.1:" + std::to_string(port_); }
  const std::filesystem::path& folder() const { return folder_.path(); }
  pid_t pid() const { return process_.pid(); }

  void pause() { process_.pause(); }  // it takes connections and bytes, and answers nothing
  void resume() { process_.resume(); }
  void kill() { process_.end(); }  // SIGKILL, and waits for its end
  void restart();                  // on the same addresses, with the same configuration; kills it first where it runs
  void start_again(bool wait_until_ready = true);  // REQUIRES: killed

  // One command on a connection of its own, before it AUTH `password` where one is given. The reply as text: integers
  // in decimal, errors as "-ERR …", nil as "(nil)", arrays one element a line. Blocks for at most 5 s.
  std::string command(const std::vector<std::string>& words, const std::string& password = "");

 private:
  void write_config();
  void spawn();
  bool await_ready();

  Options options_;
  TemporaryFolder folder_;
  std::uint16_t port_ = 0;
  ChildProcess process_;  // after the folder: it ends before that goes
};

}  // namespace sluice::test
