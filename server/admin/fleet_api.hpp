// The fleet as operators see it: which agents there are, and how far they follow.
#pragma once

#include "server/admin/call.hpp"

namespace sluice::server::admin {

// Agents whose scope is within the caller's, by id.
Answer list_agents(Context& context);

// A revision, and whether every agent whose scope overlaps the caller's enforces it; with `wait`, answered when all do.
Answer get_enforcement(Context& context);

}  // namespace sluice::server::admin
