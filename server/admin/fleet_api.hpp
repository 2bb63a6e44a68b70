// Routes of the fleet: list the agents, and say how many of them enforce a revision.
#pragma once

#include "server/admin/call.hpp"

namespace sluice::server::admin {

// The agents whose scope is within the caller's, ordered by id.
Answer list_agents(Context& context);

// A revision, and whether every agent whose scope overlaps the caller's enforces it. With `wait`, the answer comes when
// all do, or after that time.
Answer get_enforcement(Context& context);

}  // namespace sluice::server::admin
