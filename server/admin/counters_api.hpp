// Routes that read and reset the counters of one identity under a policy or a plan.
#pragma once

#include "server/admin/call.hpp"

namespace sluice::server::admin {

// Both routes take {"tenant_id", "policy_id" or "plan_id", "identity"}.
Answer read_counters(Context& context);
// The server resets the counters in Redis after this call's transaction in PostgreSQL is committed.
Answer reset_counters(Context& context);

}  // namespace sluice::server::admin
