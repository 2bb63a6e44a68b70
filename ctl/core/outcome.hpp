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

// Prints "sluicectl: TEXT" to stderr, with a line for each fault that TEXT consists of.
Exit fail(const std::string& text);
inline Exit fail(const Error& error) { return fail(error.text); }

}  // namespace sluice::ctl
