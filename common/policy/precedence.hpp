// Precedence: which of several applicable policies decides.
//
// Thread safety: pure functions.
#pragma once

#include "common/policy/compiled_policy.hpp"

namespace sluice::policy {

// The criteria in the order in which they are compared. The first in which two policies differ decides.
enum class Criterion : std::uint8_t {
  level,       // the more specific dimension first (levels.hpp)
  method,      // only at level endpoint or resource: scopes with `method` first
  priority,    // higher first
  dimensions,  // more dimensions first
  narrowness,  // dimension by dimension: exact values first, then longer before shorter prefixes and blocks
  version,     // higher first
  id           // ascending; unique within a tenant, so the order is total
};

struct Ordering {
  bool first = false;  // `a` precedes `b`
  Criterion by = Criterion::id;
  const Term* dimension = nullptr;  // narrowness only: the first term that differs, in the policy that precedes
};

// Which of two policies precedes, and by which criterion.
Ordering compare(const CompiledPolicy& a, const CompiledPolicy& b);

// The first criteria of compare() as a sort key for policies of one level: a lower key precedes. If two keys are equal,
// compare() decides. The key depends on the policy alone, so it stays the same when other policies change.
std::uint64_t order_of(const CompiledPolicy& policy);

}  // namespace sluice::policy
