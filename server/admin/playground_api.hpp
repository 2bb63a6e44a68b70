// Routes of the playground. Each of check and state is two routes: of callers with a token, in their scope, and of
// visitors without one, for the tenant of --playground only.
#pragma once

#include "server/admin/call.hpp"

namespace sluice::server::admin {

// GET: whether there is a playground, and for which tenants in the caller's scope the server has an API key.
Answer describe_playground(Context& context);

// GET: the plans and policies of the public tenant.
Answer show_public_playground(Context& context);

// POST {"tenant_id","request","key"?}: has the playground's agent judge a check, which counts. The agent judges
// for the tenant of the API key, which is the server's key of that tenant, or one that the caller brings.
Answer check_in_playground(Context& context);

// POST {"tenant_id","request"}: the state of the limits that would judge the check, on Redis' clock. Charges nothing.
// REQUIRES: Route::one_snapshot.
Answer read_playground_state(Context& context);

// The principal of visitors. Limits `tx` to the public tenant. `setup`: nullptr if there is no playground.
// Throws Refusal.
auth::Principal enter_as_visitor(postgres::Transaction& tx, const playground::Setup* setup);

}  // namespace sluice::server::admin
