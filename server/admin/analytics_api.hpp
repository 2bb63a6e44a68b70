// Routes of analytics: the decisions that agents reported.
#pragma once

#include "server/admin/call.hpp"

namespace sluice::server::admin {

// Numbers of decisions by tenant, policy, outcome and time, with totals. REQUIRES: Route::one_snapshot, so that the
// totals are those of the rows.
Answer list_analytics(Context& context);

// How much the decisions of policies used of their limits, by tenant, policy and time, with totals. REQUIRES:
// Route::one_snapshot.
Answer list_utilization(Context& context);

Answer list_throttled_subjects(Context& context);

// The denials of one subject, by hour and policy.
Answer list_denials(Context& context);

// The resources that most often matched no policy.
Answer list_unmatched_resources(Context& context);

}  // namespace sluice::server::admin
