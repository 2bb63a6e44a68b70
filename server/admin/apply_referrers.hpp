// Checks stored policies and overrides that refer to objects that the apply route changes or removes.
#pragma once

#include "server/admin/apply_plan.hpp"

namespace sluice::server::admin {

// Refuses the request if a policy or an override outside of the bundle would become invalid, or refers to an object
// that `plan` removes. REQUIRES: the objects that `plan` updates and removes are locked.
void check_referrers(postgres::Transaction& tx, const BundleBody& body, const ApplyPlan& plan);

}  // namespace sluice::server::admin
