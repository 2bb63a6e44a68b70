#include "common/program/dumps.hpp"

#include <sys/prctl.h>
#include <sys/resource.h>

namespace sluice::program {

void forbid_dumps() {
  // Both limits, so that nothing can raise it again. Neither call can fail: they only give up rights.
  const rlimit none{.rlim_cur = 0, .rlim_max = 0};
  setrlimit(RLIMIT_CORE, &none);
  // Where core_pattern names a program, the kernel ignores the limit. It never dumps a process that is not dumpable.
  if constexpr (!kDebuggerNeeded) prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

}  // namespace sluice::program
