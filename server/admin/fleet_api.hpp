// Routes of the fleet.
#pragma once

#include "server/admin/call.hpp"

namespace sluice::server::admin {

// The agents whose scope is within the caller's, ordered by id.
Answer list_agents(Context& context);

// How many of the agents whose scope overlaps the caller's enforce a revision. With `wait` in the query, the server
// answers when all of these agents enforce the revision, or when this time has passed.
Answer get_enforcement(Context& context);

}  // namespace sluice::server::admin
