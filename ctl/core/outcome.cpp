#include "ctl/core/outcome.hpp"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <system_error>

#include "ctl/core/output.hpp"

namespace sluice::ctl {

Exit fail(const std::string& text) {
  std::fflush(stdout);  // what was printed before the error stands before it
  std::string lines = "sluicectl: ";
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.append(printable(std::string_view(text).substr(begin, end - begin))).append("\n");
    begin = end + 1;
  }
  std::fputs(lines.c_str(), stderr);  // unlike fmt::print(), it doesn't throw if stderr is closed
  return Exit::failed;
}

Exit output_lost(int reason) {
  if (reason == EPIPE) {
    std::signal(SIGPIPE, SIG_DFL);
    std::raise(SIGPIPE);
  }
  return fail("the output cannot be written: " + std::generic_category().message(reason));
}

void flush_output() {
  if (std::fflush(stdout) != 0) throw std::system_error(errno, std::generic_category());
}

}  // namespace sluice::ctl
