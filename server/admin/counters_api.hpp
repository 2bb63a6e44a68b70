// Routes that read and reset the counters of one identity under a policy or a plan.
#pragma once

#include "server/admin/call.hpp"

namespace sluice::server::admin {

// Takes {"tenant_id", "policy_id" or "plan_id", "identity"}. Answers each limit's present numbers. Charges nothing.
Answer read_counters(Context& context);
// Takes the same body. Forgets what the identity used; its overrides stay. The reset in Redis follows the commit.
Answer reset_counters(Context& context);

}  // namespace sluice::server::admin
