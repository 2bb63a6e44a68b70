// How a check is decided, arrow by arrow: CheckRequest → ApiKey → Policy → Plan → counter keys → CounterStore →
// Decision.
//
// Pure functions on an immutable snapshot; the one step that waits (the counter store) lies between prepare_call() and
// conclude(). The text of each arrow is here, top to bottom; check.cpp strings them together.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/domain/check_request.hpp"
#include "common/domain/decision.hpp"
#include "common/limiter/counter_store.hpp"
#include "common/policy/course.hpp"
#include "common/policy/snapshot.hpp"

namespace sluice::agent::decide {

// The key a caller presents; nullptr where it is missing, malformed, unknown, expired or wrong. The work is the same
// whether the id exists or not.
const policy::KeyView* authenticate(const policy::Snapshot& snapshot, std::string_view presented, std::int64_t now_us);

using policy::Course;

// Fills org, tenant and api_key into the request and chooses what judges it.
Course choose_course(const policy::Snapshot& snapshot, const policy::TenantView& tenant, const policy::KeyView& key,
                     CheckRequest& request, std::int64_t now_us);

// Counter keys and costs of one rulebook for this request; reuses the call's memory.
void prepare_call(const policy::TenantView& tenant, const policy::Rulebook& rulebook, const CheckRequest& request,
                  limiter::Call& call);

// The leases an outcome took, for the lease id.
void append_leases(const policy::Rulebook& rulebook, const limiter::Call& call, const limiter::Outcome& outcome,
                   std::vector<limiter::LeaseRef>& out);

// The answer where something was judged, or could not be: the action when over the limit, the failure mode when the
// store failed. `shadow`, where the course has one, is reported beside it and changes nothing.
Decision conclude(const Course& course, const CheckRequest& request, const limiter::Call& call,
                  const limiter::StoreResult<limiter::Outcome>& outcome,
                  const limiter::StoreResult<limiter::Outcome>* shadow);

// The answer where nothing is judged: no_policy and mode_off.
Decision conclude_unjudged(const Course& course, const policy::TenantView& tenant, const CheckRequest& request);

}  // namespace sluice::agent::decide
