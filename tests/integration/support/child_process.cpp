#include "tests/integration/support/child_process.hpp"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>

extern char** environ;

namespace sluice::test {
namespace {

[[noreturn]] void fail(const std::string& what) { throw std::runtime_error(what + ": " + std::strerror(errno)); }

std::vector<std::string> with_ours(const std::vector<std::string>& given) {
  std::vector<std::string> variables = given;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string name(*variable, std::strcspn(*variable, "=") + 1);
    bool replaced = false;
    for (const std::string& other : given) replaced |= other.starts_with(name);
    if (!replaced) variables.emplace_back(*variable);
  }
  return variables;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (std::string& text : texts) all.push_back(text.data());
  all.push_back(nullptr);
  return all;
}

}  // namespace

void ChildProcess::start(const Command& command) {
  std::vector<std::string> words = command.words;
  std::vector<std::string> variables = with_ours(command.environment);
  const std::vector<char*> arguments = pointers(words);
  const std::vector<char*> environment = pointers(variables);
  log_ = command.log;
  const bool becomes = command.user && *command.user != ::geteuid();
  const passwd* user = becomes ? ::getpwuid(*command.user) : nullptr;
  if (becomes && user == nullptr) fail("no user " + std::to_string(*command.user));

  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ < 0) fail("fork");
  if (pid_ > 0) return;
  // The child: system calls only, from here to exec.
  const int out = ::open(log_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(out, STDERR_FILENO);
  if (becomes && (::setgroups(0, nullptr) != 0 || ::setgid(user->pw_gid) != 0 || ::setuid(user->pw_uid) != 0)) {
    ::_exit(127);
  }
  ::prctl(PR_SET_PDEATHSIG, command.death_signal);  // a change of user takes it back, so after that
  if (::getppid() != parent) ::_exit(127);
  ::execvpe(arguments[0], arguments.data(), environment.data());
  ::_exit(127);
}

bool ChildProcess::running() {
  if (pid_ > 0 && ::waitpid(pid_, nullptr, WNOHANG) == pid_) pid_ = -1;
  return pid_ > 0;
}

void ChildProcess::pause() {
  ::kill(pid_, SIGSTOP);
  int status = 0;
  if (::waitpid(pid_, &status, WUNTRACED) != pid_ || !WIFSTOPPED(status)) fail("it did not stop");
}

void ChildProcess::resume() { ::kill(pid_, SIGCONT); }

void ChildProcess::end(int signal_number) {
  if (!running()) return;
  ::kill(pid_, signal_number);
  wait();
}

int ChildProcess::wait() {
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0) {
    if (errno != EINTR) fail("waitpid");
  }
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::string ChildProcess::log_tail() const {
  std::ifstream log(log_);
  std::ostringstream text;
  text << log.rdbuf();
  const std::string all = text.str();
  return all.size() > 2000 ? all.substr(all.size() - 2000) : all;
}

}  // namespace sluice::test
