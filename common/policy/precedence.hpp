// Who wins where several policies match.
#pragma once

#include <cstdint>

#include "common/domain/policy.hpp"

namespace sluice::policy {

// The ten levels of specificity, 0 the most specific.
inline constexpr int kLevels = 10;
int level_of(Dimension dimension);  // kLevels for dimensions that only narrow
int level_of(const Policy& policy);

// Whether `a` is asked before `b`: more specific level (endpoint/resource with method before without), higher priority,
// more dimensions, higher version, then id in ascending order. A strict total order within a tenant.
bool outranks(const Policy& a, const Policy& b);

}  // namespace sluice::policy
