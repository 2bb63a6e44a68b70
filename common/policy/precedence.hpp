// Precedence: which of several applicable policies decides.
//
// Thread safety: pure functions.
#pragma once

#include "common/policy/compiled_policy.hpp"

namespace sluice::policy {

// The criteria in the order in which they are compared. The first in which two policies differ decides.
enum class Criterion : std::uint8_t {
  level,       // the more specific dimension first (levels.hpp)
  method,      // among policies by endpoint or resource: with a method first
  priority,    // higher first
  dimensions,  // more dimensions first
  narrowness,  // dimension by dimension: exact, then longer, then shorter prefix or block
  version,     // higher first
  id           // ascending; unique within a tenant, so the order is total
};

struct Ordering {
  bool first = false;  // `a` precedes `b`
  Criterion by = Criterion::id;
  const Term* dimension = nullptr;  // narrowness only: the preceding policy's term in which they differ
};

// Which of two policies precedes, and by which criterion.
Ordering compare(const CompiledPolicy& a, const CompiledPolicy& b);

// The first criteria of compare() as a sort key for policies of one level: a lower key precedes. If two keys are equal,
// compare() decides. The key depends on the policy alone, so it stays the same when other policies change.
std::uint64_t order_of(const CompiledPolicy& policy);

}  // namespace sluice::policy
