// What an edited policy would have done with the checks of the last minutes, before anything is enforced.
#pragma once

#include "server/admin/call.hpp"

namespace sluice::server::admin {

// POST whatif {"tenant_id","policy" | "policy_id" and "patch","minutes" | "from" and "to","wait"}: writes a question
// for the agents of the tenant, and answers with the sum of what they answer. The executor repeats the call until all
// have answered, or `wait` is over. REQUIRES: Route::asks_agents.
Answer ask_whatif(Context& context);

}  // namespace sluice::server::admin
