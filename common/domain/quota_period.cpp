#include "common/domain/quota_period.hpp"

#include <algorithm>

namespace sluice {
namespace {

using std::chrono::days;
using std::chrono::months;
using std::chrono::sys_days;
using std::chrono::year;
using std::chrono::year_month_day;
using std::chrono::year_month_day_last;

// Dates outside this range could overflow std::chrono::year, which has 16 bits.
constexpr WallTime kFirst = sys_days(year(1) / 1 / 1);
constexpr WallTime kLast = sys_days(year(29'999) / 12 / 31);

constexpr WallTime kEpoch{};
constexpr WallTime kFirstMonday = sys_days(year(1970) / 1 / 5);

PeriodBounds bounds(WallTime from, WallTime to) {
  return {from.time_since_epoch().count(), to.time_since_epoch().count()};
}

// Here and in calendar_period(), `anchor` is the start of period 0, and `k` is the number of a period.
PeriodBounds fixed_period(WallTime anchor, Micros length, WallTime now) {
  const Micros elapsed = now - anchor;
  std::int64_t k = elapsed / length;
  if (elapsed % length < Micros(0)) --k;  // division rounds towards zero, but k must be rounded down
  const WallTime from = anchor + k * length;
  return bounds(from, from + length);
}

WallTime months_later(WallTime anchor, int k) {
  const auto midnight = std::chrono::floor<days>(anchor);
  const year_month_day date(midnight);
  const auto month = date.year() / date.month() + months(k);
  const auto last_day = year_month_day_last(month.year(), std::chrono::month_day_last(month.month())).day();
  return sys_days(month / std::min(date.day(), last_day)) + (anchor - midnight);
}

PeriodBounds calendar_period(WallTime anchor, int months_each, WallTime now) {
  const year_month_day first(std::chrono::floor<days>(anchor));
  const year_month_day today(std::chrono::floor<days>(now));
  const auto between = static_cast<int>((today.year() / today.month() - first.year() / first.month()).count());
  int k = between / months_each;
  if (between % months_each < 0) --k;
  // A period that begins in the current month may begin after `now`.
  if (months_later(anchor, k * months_each) > now) --k;
  return bounds(months_later(anchor, k * months_each), months_later(anchor, (k + 1) * months_each));
}

}  // namespace

PeriodBounds period_at(Period period, const std::optional<WallTime>& anchor, std::int64_t now_us) {
  const WallTime now = std::clamp(WallTime(Micros(now_us)), kFirst, kLast);
  switch (period) {
    case Period::hour:
      return fixed_period(anchor.value_or(kEpoch), std::chrono::hours(1), now);
    case Period::day:
      return fixed_period(anchor.value_or(kEpoch), days(1), now);
    case Period::week:
      return fixed_period(anchor.value_or(kFirstMonday), std::chrono::weeks(1), now);
    case Period::month:
      return calendar_period(anchor.value_or(kEpoch), 1, now);
    case Period::year:
      return calendar_period(anchor.value_or(kEpoch), 12, now);
  }
  return {};
}

}  // namespace sluice
