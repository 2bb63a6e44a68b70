// The ten levels of specificity, from 0 (the most specific) to 9. A policy has the level of its most specific
// dimension. Precedence (precedence.hpp) compares the level first.
#pragma once

#include "common/domain/dimension.hpp"

namespace sluice::policy {

inline constexpr int kLevels = 10;
inline constexpr int kRouteLevel = 2;             // endpoint, resource
inline constexpr int kGlobalLevel = kLevels - 1;  // policies without a dimension that has a level

// Returns kLevels for dimensions that do not change the level of a policy.
int level_of(Dimension dimension);

// REQUIRES: 0 ≤ level < kLevels.
std::string_view level_name(int level);

}  // namespace sluice::policy
