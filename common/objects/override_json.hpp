// Reads and writes overrides as JSON.
//
// Thread safety: pure functions; all state is the caller's.
#pragma once

#include <string>
#include <vector>

#include "common/domain/policy.hpp"
#include "common/json/fields.hpp"
#include "common/json/writer.hpp"
#include "common/objects/references.hpp"

namespace sluice {

// The plans and policies that an override may belong to: all those that BundleBuilder has read.
struct OverrideOwners {
  const std::vector<Plan>& plans;
  const std::vector<Policy>& policies;
  IdIndex& plan_ids;
  IdIndex& policy_ids;
};

// Reads all fields of an override and checks it against its owner, a plan or policy: the limit exists, the identity has
// exactly the dimensions of the counter key, and the new numbers fit the limit's algorithm and the numbers that stay.
// If the owner has faults, the checks that depend on it are left out.
void read_override(json::Fields& fields, const TenantIndex& tenants, const OverrideOwners& owners, Override& out);

// A text that names what the override replaces: one limit of one owner for one identity. BundleBuilder reports a second
// override with the same target as a fault.
std::string target_of(const Override& item);

// Writes only the identity, as the same JSON object as in write_override().
void write_identity(json::Writer& out, const Override& item);

void write_override(json::Writer& out, const Override& item);

}  // namespace sluice
