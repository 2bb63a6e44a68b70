// The command line of sluicectl: options that every command has, and the commands.
#pragma once

#include <memory>
#include <string>

#include "ctl/core/invocation.hpp"

namespace sluice::ctl {

// REQUIRES: `invocation` outlives the result.
std::unique_ptr<CLI::App> make_command_line(Invocation& invocation);

// What is wrong with a command line that `app` could not read, and what to do.
std::string describe(const CLI::App& app, const CLI::ParseError& error);

}  // namespace sluice::ctl
