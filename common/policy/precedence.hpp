// Who wins where several policies apply.
#pragma once

#include "common/policy/compiled_policy.hpp"

namespace sluice::policy {

// The rules in the order in which they are asked; the first that tells two policies apart decides.
enum class Criterion : std::uint8_t {
  level,       // the more specific dimension
  method,      // among routes: with a method before without
  priority,    // the higher
  dimensions,  // the more
  narrowness,  // dimension by dimension: exact before longer before shorter prefix or block
  version,     // the higher
  id           // ascending: a strict total order within a tenant
};

struct Ordering {
  bool first = false;  // `a` is asked before `b`
  Criterion by = Criterion::id;
  const Term* dimension = nullptr;  // by narrowness: of the winner, where they differ
};

Ordering compare(const CompiledPolicy& a, const CompiledPolicy& b);

// The beginning of that comparison as a number, of a policy alone: whatever other policies come and go, it stays. Of
// two of one level the one with the lower number is asked first; equal ones are told apart by compare().
std::uint64_t order_of(const CompiledPolicy& policy);

}  // namespace sluice::policy
