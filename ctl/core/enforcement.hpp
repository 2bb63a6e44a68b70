// Waits until all agents enforce a revision.
#pragma once

#include <string>

#include "ctl/core/invocation.hpp"

namespace sluice::ctl {

// Prints how many agents enforce the revision. Exit::no if not all do within `up_to`, a duration such as "30s".
Exit await_enforcement(Invocation& invocation, const std::string& revision, const std::string& up_to);

}  // namespace sluice::ctl
