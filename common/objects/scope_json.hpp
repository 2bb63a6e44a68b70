// A policy's scope in JSON.
//
// Thread safety: pure functions; all state is the caller's.
#pragma once

#include <vector>

#include "common/domain/policy.hpp"
#include "common/json/fields.hpp"
#include "common/json/writer.hpp"

namespace sluice {

// May the shorthand rule have this dimension beside its other fields? Not where that name says something else there:
// the owner of the policy, or its rank.
bool is_scope_shorthand(Dimension dimension);

// Reads the object `scope`, and the dimensions that the shorthand rule writes beside it ("endpoint":"/v1/pay").
// REQUIRES: all other fields of the policy are taken already. Sorted by dimension; values sorted, without duplicates.
void read_scope(json::Fields& policy, std::vector<ScopeTerm>& out);

// Writes the member `scope` unless it is empty.
void write_scope(json::Writer& out, const std::vector<ScopeTerm>& scope);

}  // namespace sluice
