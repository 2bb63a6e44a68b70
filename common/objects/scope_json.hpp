// Reads and writes the scope of a policy as JSON.
//
// Thread safety: pure functions; all state is the caller's.
#pragma once

#include <vector>

#include "common/domain/policy.hpp"
#include "common/json/fields.hpp"
#include "common/json/writer.hpp"

namespace sluice {

// Whether a shorthand policy may have this dimension as a field of its own. False for `priority`, because a policy's
// field `priority` means something else, and for `org` and `tenant`, which would look like the policy's owner.
bool is_scope_shorthand(Dimension dimension);

// Reads the object `scope`, and the dimensions that a shorthand policy has as fields of its own ("endpoint":"/v1/pay").
// `out` is sorted by dimension; values are sorted, without duplicates. REQUIRES: all other fields were read before,
// because each remaining field that has the name of a dimension is read as part of the scope.
void read_scope(json::Fields& policy, std::vector<ScopeTerm>& out);

// Writes the member `scope` unless the scope is empty.
void write_scope(json::Writer& out, const std::vector<ScopeTerm>& scope);

}  // namespace sluice
