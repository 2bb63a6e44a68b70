// Which period of a quota an instant falls into.
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

// The period with from_us ≤ now_us < to_us. Period k is [anchor + k periods, anchor + (k + 1) periods), always counted
// from the anchor, so that an anchor on the 31st gives 31 March, 30 April, 31 May; k is negative before the anchor.
// Months and years keep the anchor's time of day and clamp its day to the month's last. Without an anchor: the
// UTC calendar, weeks starting on Monday.
// REQUIRES: the anchor in the years 1970 to 9999; an instant outside the years 1 to 29999 is taken as the nearest one
// in.
PeriodBounds period_at(Period period, const std::optional<WallTime>& anchor, std::int64_t now_us);

}  // namespace sluice
