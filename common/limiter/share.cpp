#include "common/limiter/share.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

namespace sluice::limiter {
namespace {

// Tolerance for doubles, so that a product just below 3 is not rounded down to 2.
constexpr double kRounding = 1e-9;

}  // namespace

Limit share_of(const Limit& limit, double share) {
  Limit part = limit;
  if (share >= 1 || limit.limit == 0) return part;
  part.limit = std::max<std::int64_t>(
      1, static_cast<std::int64_t>(std::floor(static_cast<double>(limit.limit) * share + kRounding)));
  if (limit.rate.units == 0) return part;
  const double longest = static_cast<double>(kMaxLimit / part.limit);
  const double per_us = share > 0 ? static_cast<double>(limit.rate.per_us) / share : longest;
  part.rate.per_us = static_cast<std::int64_t>(std::ceil(std::min(per_us, longest) - kRounding));
  return part;
}

Program share_of(const Program& whole, double share) {
  std::vector<Limit> limits;
  limits.reserve(whole.limits.size());
  for (const Limit& limit : whole.limits) limits.push_back(share_of(limit, share));
  const bool delays = whole.max_delay_us > 0;
  Program part =
      compile(limits, delays ? std::optional(Micros(static_cast<std::int64_t>(whole.max_delay_us))) : std::nullopt);
  part.plan_position = whole.plan_position;
  return part;
}

}  // namespace sluice::limiter
