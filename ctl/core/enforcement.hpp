// Waits until all agents enforce a revision.
#pragma once

#include <chrono>
#include <string>

#include "ctl/core/invocation.hpp"

namespace sluice::ctl {

// Prints how many agents enforce the revision. Exit::no if not all do within `up_to`.
Exit await_enforcement(Invocation& invocation, const std::string& revision, std::chrono::milliseconds up_to);

}  // namespace sluice::ctl
