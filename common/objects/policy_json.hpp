// Plans and policies in JSON.
//
// Thread safety: pure functions; all state is the caller's.
#pragma once

#include "common/domain/policy.hpp"
#include "common/json/fields.hpp"
#include "common/json/writer.hpp"
#include "common/objects/references.hpp"

namespace sluice {

// Reads all fields of a plan, whose single limit may stand in it without a list.
void read_plan(json::Fields& fields, const TenantIndex& tenants, Plan& out);

// Reads all fields of a policy: canonical, or the shorthand rule, which has its limit's fields and its scope's
// dimensions beside the others and may go without an id (it gets one made from its content, the same every time).
// Whether `plan_id` exists is for the caller to check.
void read_policy(json::Fields& fields, const TenantIndex& tenants, Policy& out);

void write_plan(json::Writer& out, const Plan& plan);
void write_policy(json::Writer& out, const Policy& policy);

}  // namespace sluice
