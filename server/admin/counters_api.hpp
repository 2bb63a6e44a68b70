// Routes that read and reset the counters of one identity under a policy or a plan.
#pragma once

#include "server/admin/call.hpp"

namespace sluice::server::admin {

// Both routes take {"tenant_id", "policy_id" or "plan_id", "identity"}.
Answer read_counters(Context& context);
// The counters in Redis are reset after the commit.
Answer reset_counters(Context& context);

}  // namespace sluice::server::admin
