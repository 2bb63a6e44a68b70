// Reads and writes the JSON fields of enforcement, which plans and policies share.
//
// Thread safety: pure functions.
#pragma once

#include "common/domain/plan.hpp"
#include "common/json/fields.hpp"
#include "common/json/writer.hpp"

namespace sluice {

// Adds a fault for each missing and for each unused parameter of the action and the failure mode.
void read_enforcement(json::Fields& fields, Enforcement& out);

// Faults: a limit's key_by repeats a dimension of the enforcement's key_by; max_delay allows more debt than a bucket's
// numbers can represent (debt_fault()). `own`: `fields` contains the limits; false: a policy names a plan, and the
// limits are the plan's.
void check_enforcement(json::Fields& fields, const Enforcement& enforcement, const std::vector<Limit>& limits,
                       bool own);

// Writes the members that differ from their defaults into the open object of `out`.
void write_enforcement(json::Writer& out, const Enforcement& enforcement);

}  // namespace sluice
