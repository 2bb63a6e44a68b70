// Routes that export, check and apply bundles, and the route that explains a decision.
#pragma once

#include "server/admin/call.hpp"

namespace sluice::server::admin {

// GET export?organization_id=&tenant_id=&include=overrides: the stored objects in the caller's scope, as a bundle.
// Every exported kind has a list, even an empty one, so applying the bundle with `prune` restores exactly this state.
// REQUIRES: Route::one_snapshot (all reads see one state of the database), so that all lists belong to one revision.
Answer export_bundle(Context& context);

// POST explain {"tenant_id","key_id"?,"request"}: says which policy would decide a check, and why each other candidate
// would not decide it. REQUIRES: Route::one_snapshot, because TenantSnapshots::get() needs it.
Answer explain_request(Context& context);

// POST validate {"kind","tenant_id"?,"object"}, or a bundle: answers the canonical form with warnings, or refuses the
// body with all its faults. Stores nothing.
Answer validate_body(Context& context);

// POST apply?dry_run=&prune=&organization_id= with a bundle: changes the stored objects to those of the bundle. Answers
// {"dry_run","changes":[{"action","kind","tenant_id","id","diff"}],"unchanged","warnings","revision"}; `diff` is the
// merge patch of an update. A bundle that changes nothing makes no revision. apply_plan.hpp says what prune removes.
Answer apply_bundle(Context& context);

}  // namespace sluice::server::admin
