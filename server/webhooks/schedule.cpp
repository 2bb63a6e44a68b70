#include "server/webhooks/schedule.hpp"

#include <algorithm>

namespace sluice::server::webhooks {

std::chrono::milliseconds retry_delay(int failed_attempts, double random) {
  std::chrono::milliseconds ceiling = kFirstRetry;
  for (int i = 1; i < failed_attempts && ceiling < kLongestRetry; ++i) ceiling *= 2;
  ceiling = std::min(ceiling, kLongestRetry);
  const double share = 0.5 + std::clamp(random, 0.0, 1.0) / 2;
  return std::chrono::milliseconds(static_cast<std::int64_t>(share * static_cast<double>(ceiling.count())));
}

}  // namespace sluice::server::webhooks
