// The ten levels of specificity, from 0 (the most specific) to 9. A policy has the level of its most specific
// dimension. The level is the first criterion of precedence between policies (precedence.hpp).
#pragma once

#include "common/domain/dimension.hpp"

namespace sluice::policy {

inline constexpr int kLevels = 10;
inline constexpr int kRouteLevel = 2;             // endpoint, resource
inline constexpr int kGlobalLevel = kLevels - 1;  // policies without a dimension that has a level

// From 0 (user, subject) to 8 (signal); kLevels for dimensions that narrow a policy without changing its level.
int level_of(Dimension dimension);

// "user or subject", …, for explain texts. REQUIRES: 0 ≤ level < kLevels.
std::string_view level_name(int level);

}  // namespace sluice::policy
