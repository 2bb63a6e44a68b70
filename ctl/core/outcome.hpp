// How a command ends.
#pragma once

#include <string>

#include "common/base/error.hpp"

namespace sluice::ctl {

// The exit codes of sluicectl, as those of diff.
enum class Exit : int {
  done = 0,
  no = 1,      // done, and the answer is no: there are differences, or the check was denied
  failed = 2,  // wrong usage, broken input, or a call that failed
};

// Prints "sluicectl: TEXT" to stderr, with a line for each fault that TEXT consists of. Control characters in it are
// replaced.
Exit fail(const std::string& text);
inline Exit fail(const Error& error) { return fail(error.text); }

// What was printed did not arrive, for this reason (an errno). Says so, but ends by SIGPIPE if nobody reads any more,
// as in `sluicectl get plans | head`: other programs of a pipeline do the same.
Exit output_lost(int reason);

// What is printed from time to time must arrive at once. Throws std::system_error if it cannot.
void flush_output();

}  // namespace sluice::ctl
