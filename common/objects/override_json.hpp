// Reads and writes overrides as JSON.
//
// Thread safety: pure functions.
#pragma once

#include <string>
#include <vector>

#include "common/domain/policy.hpp"
#include "common/json/fields.hpp"
#include "common/json/writer.hpp"
#include "common/objects/bundle_json.hpp"
#include "common/objects/references.hpp"

namespace sluice {

// The plans and policies that an override can belong to.
struct OverrideOwners {
  const std::vector<Plan>& plans;
  const std::vector<Policy>& policies;
  IdIndex& plan_ids;
  IdIndex& policy_ids;
};

// If the owner (the override's plan or policy) has no faults, it must have the limit that the override names, the
// identity must have exactly the dimensions of the limit's counter key, and the new numbers must fit the limit.
// With Author::person, the identity's resource gets its canonical spelling. What is stored keeps its text, by which it
// is found.
void read_override(json::Fields& fields, const TenantIndex& tenants, Author author, const OverrideOwners& owners,
                   Override& out);

// A text that names what the override replaces: one limit of one owner for one identity.
std::string target_of(const Override& item);

void write_identity(json::Writer& out, const Override& item);

void write_override(json::Writer& out, const Override& item);

}  // namespace sluice
