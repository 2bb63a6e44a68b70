// A program that a test starts: gone with the object, whatever happens.
//
// Not thread-safe. Start it on a thread that lives as long as the program shall: the kernel ends the program when that
// thread dies (PR_SET_PDEATHSIG), so that a crashed test leaves none behind. Failures throw std::runtime_error.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace sluice::test {

class ChildProcess {
 public:
  struct Command {
    std::vector<std::string> words;          // the program, looked for in PATH, and its arguments
    std::filesystem::path log;               // takes what it writes, behind what is there
    std::vector<std::string> environment{};  // NAME=value, on top of ours
    std::optional<uid_t> user{};             // whose rights it runs with, where we are root
    int death_signal = SIGKILL;              // what it gets when we die
  };

  ChildProcess() = default;
  ~ChildProcess() { end(); }
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  void start(const Command& command);     // REQUIRES: !running()
  bool running();                         // false also where it could not be executed
  pid_t pid() const { return pid_; }      // -1 where it is known to have ended
  void pause();                           // SIGSTOP, and waits for it
  void resume();                          // SIGCONT
  void end(int signal_number = SIGKILL);  // sends it and waits for the end; does nothing where it has ended
  int wait();                             // its exit status, or 128 + the signal that ended it. REQUIRES: pid() > 0
  std::string log_tail() const;           // the last 2,000 bytes of its log

 private:
  pid_t pid_ = -1;
  std::filesystem::path log_;
};

}  // namespace sluice::test
