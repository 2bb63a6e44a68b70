// The commands and options as Markdown, for docs/reference.
//
// Thread safety: a pure function.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace sluice::ctl {

// Without the home folder of whoever runs it: a default that is a path of the machine is left out.
std::string reference(const CLI::App& app);

}  // namespace sluice::ctl
