// Reads what a command line names.
//
// Thread safety: none; stdin is the process's.
#pragma once

#include <string>

#include "common/base/error.hpp"

namespace sluice::ctl {

// The whole content of a file, or of stdin for "-". Error: `file`.
Result<std::string> read_text(const std::string& path);

// The first line of a file, or of stdin for "-". Error: `file`, also if the line is empty.
Result<std::string> read_secret(const std::string& path);

}  // namespace sluice::ctl
