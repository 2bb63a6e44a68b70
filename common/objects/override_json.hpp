// Overrides in JSON.
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

// The plans and policies an override may belong to.
struct OverrideOwners {
  const std::vector<Plan>& plans;
  const std::vector<Policy>& policies;
  IdIndex& plan_ids;
  IdIndex& policy_ids;
};

// Reads all fields of an override and checks it against its owner: the limit exists, the identity has exactly the
// dimensions of the counter's key, the numbers fit the limit's algorithm and its other numbers.
// Where the owner has faults of its own, what depends on it is left unjudged.
void read_override(json::Fields& fields, const TenantIndex& tenants, const OverrideOwners& owners, Override& out);

// Names what an override replaces: the limit of one owner for one identity. There is at most one override of each.
std::string target_of(const Override& item);

// Its identity as a JSON object: part of what write_override() writes.
void write_identity(json::Writer& out, const Override& item);

void write_override(json::Writer& out, const Override& item);

}  // namespace sluice
