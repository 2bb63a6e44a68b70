// Plans and policies in JSON.
//
// Thread safety: pure functions; all state is the caller's.
#pragma once

#include "common/domain/json_fields.hpp"
#include "common/domain/json_writer.hpp"
#include "common/domain/policy.hpp"
#include "common/domain/references.hpp"

namespace sluice {

// Reads all fields of a plan, whose single limit may stand in it without a list.
void read_plan(Fields& fields, const TenantIndex& tenants, Plan& out);

// Reads all fields of a policy: canonical, or the shorthand rule, which has its limit's fields and its scope's
// dimensions beside the others and may go without an id (it gets one made from its content, the same every time).
// Whether `plan_id` exists is for the caller to check.
void read_policy(Fields& fields, const TenantIndex& tenants, Policy& out);

void write_plan(JsonWriter& out, const Plan& plan);
void write_policy(JsonWriter& out, const Policy& policy);

}  // namespace sluice
