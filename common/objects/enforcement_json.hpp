// Reads and writes the JSON fields of enforcement, which plans and policies share.
//
// Thread safety: pure functions; all state is the caller's.
#pragma once

#include "common/domain/plan.hpp"
#include "common/json/fields.hpp"
#include "common/json/writer.hpp"

namespace sluice {

// Reads key_by, mode, action and failure_mode with their parameters. Adds a fault for each parameter that the action or
// the failure mode needs and lacks, and for each one that it does not use.
void read_enforcement(json::Fields& fields, Enforcement& out);

// Checks that the limits fit the enforcement. Faults: a limit's key_by repeats a dimension of the enforcement's key_by;
// max_delay lets a bucket go so deep into debt that its numbers are no longer exact (debt_fault()). `own`: true if the
// limits are in the same object as the enforcement, false if they are in the plan that the policy names.
void check_enforcement(json::Fields& fields, const Enforcement& enforcement, const std::vector<Limit>& limits,
                       bool own);

// Writes the members that differ from their defaults into the JSON object that is open in `out`.
void write_enforcement(json::Writer& out, const Enforcement& enforcement);

}  // namespace sluice
