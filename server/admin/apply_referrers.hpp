// Checks stored policies and overrides that are not in the bundle, but depend on objects that apply changes or removes.
// They must stay valid.
//
// Thread safety: none; it works in its caller's transaction.
#pragma once

#include "server/admin/apply_plan.hpp"

namespace sluice::server::admin {

// Refuses changes that remove an object which a policy or an override outside of the bundle refers to, or that make
// such a policy or override invalid. REQUIRES: the objects to be changed are locked.
void check_referrers(postgres::Transaction& tx, const BundleBody& body, const ApplyPlan& plan);

}  // namespace sluice::server::admin
