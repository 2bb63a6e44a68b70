#include "server/auth/throttle.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace sluice::server::auth {

std::chrono::seconds FailureThrottle::failed(std::string_view source, std::int64_t now_us) {
  const std::lock_guard lock(mutex_);
  auto found = buckets_.find(std::string(source));
  if (found == buckets_.end()) {
    if (buckets_.size() >= kSources) make_room(now_us);
    found = buckets_.try_emplace(std::string(source), Bucket{.tokens = kBurst, .at_us = now_us}).first;
  }
  const auto wait = take(found->second, now_us, kBurst, kPerSecond);
  const auto wait_of_all = take(total_, now_us, kTotalBurst, kTotalPerSecond);
  if (std::max(wait, wait_of_all).count() > 0) ++throttled_;
  return std::max(wait, wait_of_all);
}

std::chrono::seconds FailureThrottle::take(Bucket& bucket, std::int64_t now_us, double burst, double per_second) {
  bucket.tokens = tokens_of(bucket, now_us, burst, per_second);
  bucket.at_us = now_us;
  if (bucket.tokens >= 1) {
    bucket.tokens -= 1;
    return std::chrono::seconds(0);
  }
  return std::chrono::seconds(static_cast<std::int64_t>(std::ceil((1 - bucket.tokens) / per_second)));
}

bool FailureThrottle::is_suspect(std::string_view source, std::int64_t now_us) const {
  const std::lock_guard lock(mutex_);
  const auto found = buckets_.find(std::string(source));
  return found != buckets_.end() && tokens_of(found->second, now_us) < 1;
}

double FailureThrottle::tokens_of(const Bucket& bucket, std::int64_t now_us, double burst, double per_second) {
  const double passed = static_cast<double>(std::max<std::int64_t>(0, now_us - bucket.at_us)) / 1e6;
  return std::min(burst, bucket.tokens + passed * per_second);
}

std::uint64_t FailureThrottle::throttled() const {
  const std::lock_guard lock(mutex_);
  return throttled_;
}

// Looks at all buckets at most once a second, because a flood from many addresses makes room with each failure.
void FailureThrottle::make_room(std::int64_t now_us) {
  if (std::abs(now_us - swept_at_us_) >= 1'000'000) {
    swept_at_us_ = now_us;
    std::erase_if(buckets_, [now_us](const auto& entry) { return tokens_of(entry.second, now_us) >= kBurst; });
  }
  if (buckets_.size() >= kSources) buckets_.erase(buckets_.begin());
}

}  // namespace sluice::server::auth
