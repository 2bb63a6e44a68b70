// Reads and writes plans and policies as JSON.
//
// Thread safety: pure functions.
#pragma once

#include "common/domain/policy.hpp"
#include "common/json/fields.hpp"
#include "common/json/writer.hpp"
#include "common/objects/bundle_json.hpp"
#include "common/objects/enforcement_json.hpp"
#include "common/objects/references.hpp"

namespace sluice {

// Both return whether limits and enforcement have no fault, so that others can be compared with them.

// The fields of a single limit may be members of the plan itself.
bool read_plan(json::Fields& fields, const TenantIndex& tenants, Author author, Plan& out);

// With Author::person, `match_expr` in the metadata is the policy's, and `require_key_by` is true by default.
// A shorthand policy has the fields of its limit and the dimensions of its scope as members of its own. If its id is
// missing, an id is computed from its content. The caller checks whether the plan `plan_id` exists.
bool read_policy(json::Fields& fields, const TenantIndex& tenants, Author author, Policy& out);

void write_plan(json::Writer& out, const Plan& plan, Form form = Form::stored);
void write_policy(json::Writer& out, const Policy& policy, Form form = Form::stored);

}  // namespace sluice
