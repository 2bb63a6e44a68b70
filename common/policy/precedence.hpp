// Precedence: which of several applicable policies decides.
#pragma once

#include "common/policy/compiled_policy.hpp"

namespace sluice::policy {

// In the order of comparison. The first criterion in which two policies differ decides.
enum class Criterion : std::uint8_t {
  level,       // the more specific dimension first (levels.hpp)
  method,      // only at the level of endpoint and resource (kRouteLevel): scopes with `method` first
  priority,    // higher first
  dimensions,  // more dimensions first
  narrowness,  // dimension by dimension: exact values first, then patterns, long prefixes and CIDR blocks, short ones
  version,     // higher first
  id           // ascending; unique within a tenant, so the order is total
};

struct Ordering {
  bool first = false;  // `a` precedes `b`
  Criterion by = Criterion::id;
  // For `narrowness`, the deciding term of the policy that precedes; else nullptr.
  const Term* dimension = nullptr;
};

Ordering compare(const CompiledPolicy& a, const CompiledPolicy& b);

// A sort key for policies of one level. A lower key precedes. If two keys are equal, compare() decides.
std::uint64_t order_of(const CompiledPolicy& policy);

}  // namespace sluice::policy
