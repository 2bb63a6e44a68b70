// What is not in a bundle and depends on what the bundle changes or removes: it must go on working.
//
// Thread safety: pure but for what it reads.
#pragma once

#include "server/admin/apply_plan.hpp"

namespace sluice::server::admin {

// Refuses a plan that removes what a policy or an override outside of the bundle refers to, or changes it so that such
// a one would be refused if it came today. REQUIRES: what is to be changed is locked.
void check_referrers(postgres::Transaction& tx, const BundleBody& body, const ApplyPlan& plan);

}  // namespace sluice::server::admin
