// Finds environment variables that look as if they configure the program, but are no flag's: misspelt ones, and those
// of flags that another release has.
#pragma once

#include <string_view>

#include "common/base/error.hpp"
#include "common/program/flags.hpp"

namespace sluice::program {

// The event of a log line for each of them.
inline constexpr std::string_view kUnknownVariable = "unknown_variable";

// One fault for each such variable, with its name as the pointer and the most similar flag's variable in the text.
// Empty variables count as not set. Values are never shown.
//
// Not among them: what Kubernetes sets for Services (SLUICE_SERVER_SERVICE_HOST, SLUICE_SERVER_PORT_8443_TCP),
// variables of the other program, those of applications that ask an agent, and those of this repository's scripts and
// tests.
Faults unknown_variables(const Program& program, const Environment& environment);

}  // namespace sluice::program
