// Reads and writes the JSON fields of enforcement, which plans and policies share.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>

#include "common/domain/plan.hpp"
#include "common/json/fields.hpp"
#include "common/json/writer.hpp"
#include "common/objects/bundle_json.hpp"

namespace sluice {

// Which form of an object is written. Stored documents leave out `require_key_by` while it is false, as all documents
// did before it was true by default. So their bytes, which versions, audit and agents' checksums name, stay the same.
enum class Form : std::uint8_t { stored, shown };

// Adds a fault for each missing and for each unused parameter of the action and the failure mode.
void read_enforcement(json::Fields& fields, Author author, Enforcement& out);

// Faults: a limit's key_by repeats a dimension of the enforcement's key_by; max_delay allows more debt than a bucket's
// numbers can represent (debt_fault()). `own`: `fields` contains the limits; false: a policy names a plan, and the
// limits are the plan's.
void check_enforcement(json::Fields& fields, const Enforcement& enforcement, const std::vector<Limit>& limits,
                       bool own);

// Writes the members that differ from their defaults into the open object of `out`.
void write_enforcement(json::Writer& out, const Enforcement& enforcement, Form form);

}  // namespace sluice
