#include "common/domain/limit_numbers.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "common/base/duration.hpp"
#include "common/domain/algorithm.hpp"
#include "common/domain/rate.hpp"

namespace sluice {
namespace {

using Wide = __int128;

constexpr Wide kMaxSpent = Wide{1} << 50;  // of a bucket, in steps; one step is 1 / per_us of a unit
constexpr Wide kMaxDebt = Wide{1} << 51;   // of a bucket, in steps
constexpr Wide kMaxTicks = Wide{1} << 53;  // of limit · window, for a sliding_window

struct Tick {
  std::int64_t us;
  std::string_view name;
};
constexpr std::array<Tick, 3> kTicks{{{1, "microseconds"}, {1'000, "milliseconds"}, {1'000'000, "seconds"}}};

std::optional<NumberFault> entries_fault(const Limit& limit, std::string_view advice) {
  const std::int64_t most = traits_of(limit.algorithm).max_limit;
  if (limit.limit <= most) return std::nullopt;
  return NumberFault{"limit", fmt::format("the limit of a {} is at most {}, as every entry is stored{}",
                                          to_string(limit.algorithm), most, advice)};
}

}  // namespace

std::optional<NumberFault> bucket_fault(const Limit& limit) {
  // A capacity of 0 counts as 1, because an override may raise it.
  if (static_cast<Wide>(std::max<std::int64_t>(limit.limit, 1)) * limit.rate.per_us <= kMaxSpent) return std::nullopt;
  return NumberFault{
      "limit",
      fmt::format("capacity {} is too large for a rate of {}: units are counted in steps of 1/{}, and the capacity has "
                  "more than 2^50 steps, above which counting is not exact; lower the capacity to {}, or write the "
                  "rate as a simpler fraction, such as \"1/3s\" for 0.333333 per second",
                  limit.limit, to_string(limit.rate), limit.rate.per_us, kMaxLimit / limit.rate.per_us)};
}

std::optional<NumberFault> sliding_fault(const Limit& limit) {
  const std::int64_t window = limit.window.count();
  for (const Tick& tick : kTicks) {
    if (static_cast<Wide>(limit.limit) * window > kMaxTicks * tick.us) continue;
    if (window % tick.us == 0) return std::nullopt;
    return NumberFault{"window",
                       fmt::format("a sliding_window with a limit of {} needs a window of whole {}, as limit × "
                                   "window would pass 2^53 in a finer unit; {} is not a whole number of {}",
                                   limit.limit, tick.name, format_duration(limit.window), tick.name)};
  }
  const auto most = static_cast<std::int64_t>(kMaxTicks * kTicks.back().us / window);
  return NumberFault{"limit", fmt::format("limit × window passes 2^53 even in seconds, above which a sliding_window is "
                                          "not exact: lower the limit to {}, or shorten the window",
                                          most)};
}

std::optional<NumberFault> log_fault(const Limit& limit) {
  return entries_fault(limit, "; use sliding_window for more");
}

std::optional<NumberFault> lease_fault(const Limit& limit) { return entries_fault(limit, ""); }

std::optional<NumberFault> number_fault(const Limit& limit) {
  const auto fault = traits_of(limit.algorithm).number_fault;
  return fault == nullptr ? std::nullopt : fault(limit);
}

std::optional<std::string> debt_fault(const Limit& limit, Micros max_delay) {
  if (!is_bucket(limit.algorithm)) return std::nullopt;
  const Wide capacity = static_cast<Wide>(limit.largest()) * limit.rate.per_us;
  if (capacity + static_cast<Wide>(max_delay.count()) * limit.rate.units <= kMaxDebt) return std::nullopt;
  const auto longest = static_cast<std::int64_t>(std::max(kMaxDebt - capacity, Wide{0}) / limit.rate.units);
  return fmt::format(
      "max_delay {} is too long for limit {} (capacity {}, rate {}): the debt would pass 2^51, above which it is not "
      "exact; at most {} is possible",
      format_duration(max_delay), limit.name, limit.largest(), to_string(limit.rate), format_duration(Micros(longest)));
}

}  // namespace sluice
