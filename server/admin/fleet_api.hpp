// Routes of the fleet.
#pragma once

#include "server/admin/call.hpp"

namespace sluice::server::admin {

// The agents whose scope is within the scope of the caller, ordered by id.
Answer list_agents(Context& context);

// Whether all agents whose scope overlaps the scope of the caller enforce a revision, and how many of them do. With
// `wait` in the query, the server answers when all of them enforce the revision, or when this time has passed.
Answer get_enforcement(Context& context);

}  // namespace sluice::server::admin
