// Finds the period of a quota that contains an instant.
//
// Thread safety: pure functions.
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

// Returns the period with from_us ≤ now_us < to_us.
// Period 0 starts at the anchor. Period k is [anchor + k periods, anchor + (k + 1) periods); k is negative before the
// anchor. Months and years keep the anchor's time of day. A month that lacks the anchor's day uses its last day. Every
// start is computed from the anchor, not from the period before, so an anchor on the 31st gives 31 March, 30 April,
// 31 May.
// Without an anchor, periods follow the UTC calendar; weeks start on Monday.
// An instant outside the years 1 to 29999 counts as the nearest instant inside them.
// REQUIRES: the anchor is in the years 1970 to 9999.
PeriodBounds period_at(Period period, const std::optional<WallTime>& anchor, std::int64_t now_us);

}  // namespace sluice
