// Routes of the fleet: list the agents, and say how many of them enforce a revision.
#pragma once

#include "server/admin/call.hpp"

namespace sluice::server::admin {

// The agents whose scope is within the caller's, ordered by id.
Answer list_agents(Context& context);

// A revision, how many agents enforce it, and whether all of them do. Counts the agents whose scope overlaps the
// caller's. The query's `wait` is a duration: the server answers when all of these agents enforce the revision, or when
// this time has passed.
Answer get_enforcement(Context& context);

}  // namespace sluice::server::admin
