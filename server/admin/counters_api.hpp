// Counters: what somebody has spent under a policy or a plan, and to forget it.
#pragma once

#include "server/admin/call.hpp"

namespace sluice::server::admin {

// {"tenant_id", "policy_id" or "plan_id", "identity"}: each limit's numbers now. Charges nothing.
Answer read_counters(Context& context);
// The same body: nothing was spent; overrides stay. Told to Redis after the commit.
Answer reset_counters(Context& context);

}  // namespace sluice::server::admin
