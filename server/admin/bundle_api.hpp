// Routes about whole states: a bundle out of the store, a bundle into it, and what it would say.
#pragma once

#include "server/admin/call.hpp"

namespace sluice::server::admin {

// GET export?organization_id=&tenant_id=&include=overrides: what the caller's scope holds, as a bundle. Lists every
// kind, also where there is none of it, so that apply with prune makes exactly this state. REQUIRES: one state.
Answer export_bundle(Context& context);

// POST explain {"tenant_id","key_id"?,"request"}: which policy would judge a check, and why each other one would not.
// REQUIRES: one state.
Answer explain_request(Context& context);

// POST validate {"kind","tenant_id"?,"object"}, or a bundle: its canonical form and warnings, or all its faults.
// Changes nothing.
Answer validate_body(Context& context);

// POST apply?dry_run=&prune=&organization_id=, a bundle: makes the store so, and answers what was changed for that:
// {"dry_run","changes":[{"action","kind","tenant_id","id","diff"}],"unchanged","warnings","revision"}; `diff` is the
// merge patch of an update. A bundle that changes nothing makes no revision. What prune removes: apply_plan.hpp.
Answer apply_bundle(Context& context);

}  // namespace sluice::server::admin
