// The ten levels of specificity: the first of the rules that say who wins.
#pragma once

#include "common/domain/dimension.hpp"

namespace sluice::policy {

inline constexpr int kLevels = 10;
inline constexpr int kRouteLevel = 2;             // endpoint, resource
inline constexpr int kGlobalLevel = kLevels - 1;  // no dimension that has a level

// 0 (user, subject) … 8 (signal); kLevels for dimensions that only narrow.
int level_of(Dimension dimension);

// "user or subject", … for texts. 0 ≤ level < kLevels.
std::string_view level_name(int level);

}  // namespace sluice::policy
