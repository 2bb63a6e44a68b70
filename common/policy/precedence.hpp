// Precedence: which of several applicable policies decides.
//
// Thread safety: pure functions.
#pragma once

#include "common/policy/compiled_policy.hpp"

namespace sluice::policy {

// The criteria in the order in which they are compared. The first in which two policies differ decides.
enum class Criterion : std::uint8_t {
  level,       // the more specific dimension first (levels.hpp)
  method,      // only at the level of endpoint and resource (kRouteLevel): scopes with `method` first
  priority,    // higher first
  dimensions,  // more dimensions first
  narrowness,  // dimension by dimension: exact values first, then long prefixes and CIDR blocks, then short ones
  version,     // higher first
  id           // ascending; unique within a tenant, so the order is total
};

struct Ordering {
  bool first = false;  // `a` precedes `b`
  Criterion by = Criterion::id;
  // For Criterion::narrowness: the first term that differs, of the policy that precedes; else nullptr.
  const Term* dimension = nullptr;
};

// Which of two policies precedes, and by which criterion.
Ordering compare(const CompiledPolicy& a, const CompiledPolicy& b);

// A sort key for policies of one level: the criteria after `level`, as far as they fit into 64 bits. A lower key
// precedes. If two keys are equal, compare() decides. The key depends on the policy alone, so it stays the same when
// other policies change.
std::uint64_t order_of(const CompiledPolicy& policy);

}  // namespace sluice::policy
