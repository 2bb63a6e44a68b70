#include "common/program/dumps.hpp"

#include <doctest/doctest.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace sluice::program {
namespace {

// Bits that the child process below reports by its exit status.
constexpr int kDumpable = 1;
constexpr int kCoreAllowed = 2;

// A child, because the calls cannot be undone and would hold for the other tests.
int left_after_forbid_dumps() {
  const pid_t child = ::fork();
  if (child == 0) {
    forbid_dumps();
    rlimit core{};
    getrlimit(RLIMIT_CORE, &core);
    ::_exit((prctl(PR_GET_DUMPABLE) != 0 ? kDumpable : 0) | (core.rlim_max != 0 ? kCoreAllowed : 0));
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  return WEXITSTATUS(status);
}

TEST_CASE("a process that forbids dumps leaves no core file, and no debugger reads it unless LeakSanitizer must") {
  CHECK(left_after_forbid_dumps() == (kDebuggerNeeded ? kDumpable : 0));
}

}  // namespace
}  // namespace sluice::program
