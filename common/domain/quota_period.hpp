// Finds the quota period that contains an instant.
#pragma once

#include <cstdint>
#include <optional>

#include "common/domain/plan.hpp"

namespace sluice {

// [from_us, to_us) in microseconds since 1970 (UTC).
struct PeriodBounds {
  std::int64_t from_us = 0;
  std::int64_t to_us = 0;

  bool operator==(const PeriodBounds&) const = default;
};

// Period k is [anchor + k periods, anchor + (k + 1) periods); k is negative before the anchor. Every start is computed
// from the anchor, so an anchor on the 31st gives 31 March, 30 April, 31 May. Without an anchor, periods follow the UTC
// calendar, and weeks start on Monday. An instant outside the years 1 to 29999 counts as the nearest instant inside
// them. REQUIRES: the anchor is in the years 1970 to 9999.
PeriodBounds period_at(Period period, const std::optional<WallTime>& anchor, std::int64_t now_us);

}  // namespace sluice
