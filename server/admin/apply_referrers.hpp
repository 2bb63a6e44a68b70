// Applying a bundle changes and removes objects. Stored policies and overrides outside of the bundle may depend on
// these objects, and must stay valid. This file checks that.
//
// Thread safety: none; it works in its caller's transaction.
#pragma once

#include "server/admin/apply_plan.hpp"

namespace sluice::server::admin {

// Refuses the call if a policy or an override outside of the bundle would become invalid, or refers to an object that
// `plan` removes. REQUIRES: the objects that `plan` updates and removes are locked.
void check_referrers(postgres::Transaction& tx, const BundleBody& body, const ApplyPlan& plan);

}  // namespace sluice::server::admin
