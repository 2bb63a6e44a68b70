// Routes that export, check and apply bundles, and the route that explains a decision.
#pragma once

#include "server/admin/call.hpp"

namespace sluice::policy {
struct Selection;
}

namespace sluice::server::admin {

// GET export?organization_id=&tenant_id=&include=overrides: the stored objects in the caller's scope, as a bundle.
// Every exported kind has a list, even if it is empty, so applying the bundle with `prune` restores this state.
// REQUIRES: Route::one_snapshot, so that all lists belong to one revision.
Answer export_bundle(Context& context);

// POST explain {"tenant_id","key_id"?,"request"}: says which policy would decide a check, and why each other candidate
// would not. REQUIRES: Route::one_snapshot.
Answer explain_request(Context& context);

// "judged" means that an agent's reason depends on counters. Where the reason is "unknown_plan" or "missing_key", an
// agent refuses the check.
std::string_view selection_reason(const policy::Selection& selection);

// POST validate {"kind","tenant_id"?,"object"}, or a bundle: answers the canonical form with warnings, or all faults.
Answer validate_body(Context& context);

// POST apply?dry_run=&prune=&organization_id= with a bundle: changes the stored objects to those of the bundle. Answers
// {"dry_run","changes":[{"action","kind","tenant_id","id","diff"}],"unchanged","warnings","revision"}. `diff` is a
// merge patch.
Answer apply_bundle(Context& context);

}  // namespace sluice::server::admin
