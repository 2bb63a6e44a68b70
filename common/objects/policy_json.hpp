// Reads and writes plans and policies as JSON.
//
// Thread safety: pure functions; all state is the caller's.
#pragma once

#include "common/domain/policy.hpp"
#include "common/json/fields.hpp"
#include "common/json/writer.hpp"
#include "common/objects/references.hpp"

namespace sluice {

// Reads all fields of a plan. If it has one limit, that limit's fields may be members of the plan itself.
void read_plan(json::Fields& fields, const TenantIndex& tenants, Plan& out);

// Reads all fields of a policy, in canonical or shorthand form. A shorthand policy has the fields of its limit and the
// dimensions of its scope as members of its own. If it has no id, it gets one that is computed from its content. The
// caller checks whether the plan that `plan_id` names exists.
void read_policy(json::Fields& fields, const TenantIndex& tenants, Policy& out);

void write_plan(json::Writer& out, const Plan& plan);
void write_policy(json::Writer& out, const Policy& policy);

}  // namespace sluice
