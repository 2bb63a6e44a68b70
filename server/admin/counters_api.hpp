// Routes that read and reset the counters of one identity under a policy or a plan.
#pragma once

#include "server/admin/call.hpp"

namespace sluice::server::admin {

// {"tenant_id", "policy_id" or "plan_id", "identity"}: answers each limit's present numbers. Charges nothing.
Answer read_counters(Context& context);
// The same body. Forgets what the identity used; its overrides stay. The server resets Redis after the commit.
Answer reset_counters(Context& context);

}  // namespace sluice::server::admin
