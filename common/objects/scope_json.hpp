// Reads and writes the scope of a policy as JSON.
//
// Thread safety: pure functions.
#pragma once

#include <string_view>
#include <vector>

#include "common/domain/policy.hpp"
#include "common/json/fields.hpp"
#include "common/json/writer.hpp"

namespace sluice {

// What a policy belongs to. `organization_id` is "" if the document does not say it.
struct ScopeOwner {
  std::string_view tenant_id;
  std::string_view organization_id;
  // A person's faulty pattern is a fault. What is stored keeps its meaning: such a value is an exact text.
  bool written_by_person = false;
};

// Whether a shorthand policy may have this dimension as a field of its own. Not `priority`, because that field of a
// policy means something else; not `org` and `tenant`, because they would look like the policy's owner.
bool is_scope_shorthand(Dimension dimension);

// Reads the object `scope`, and the dimensions that a shorthand policy has as fields of its own ("endpoint":"/v1/pay").
// `out` is sorted by dimension, with sorted values without duplicates. REQUIRES: all other fields were read before.
void read_scope(json::Fields& policy, const ScopeOwner& owner, std::vector<ScopeTerm>& out);

// Leaves out an empty scope.
void write_scope(json::Writer& out, const std::vector<ScopeTerm>& scope);

}  // namespace sluice
