// How a plan or policy is enforced, in JSON: the fields both have.
//
// Thread safety: pure functions; all state is the caller's.
#pragma once

#include "common/domain/plan.hpp"
#include "common/json/fields.hpp"
#include "common/json/writer.hpp"

namespace sluice {

// Reads key_by, action and its parameters, mode and failure_mode; faults for parameters that are missing or do not go
// with the action or failure mode.
void read_enforcement(json::Fields& fields, Enforcement& out);

// Does `enforcement` fit limits judged under it? Faults: a limit's key_by repeats a dimension of the policy's (it can
// only add some), max_delay gives a bucket more debt than it can count. `own`: the limits stand in the same object as
// the enforcement (else in the plan it names).
void check_enforcement(json::Fields& fields, const Enforcement& enforcement, const std::vector<Limit>& limits,
                       bool own);

// Writes the members that differ from the defaults into the open object.
void write_enforcement(json::Writer& out, const Enforcement& enforcement);

}  // namespace sluice
