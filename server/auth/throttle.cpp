#include "server/auth/throttle.hpp"

#include <algorithm>
#include <cmath>

namespace sluice::server::auth {

std::chrono::seconds FailureThrottle::failed(std::string_view source, std::int64_t now_us) {
  const std::lock_guard lock(mutex_);
  auto found = buckets_.find(std::string(source));
  if (found == buckets_.end()) {
    if (buckets_.size() >= kSources) make_room(now_us);
    found = buckets_.try_emplace(std::string(source), Bucket{.tokens = kBurst, .at_us = now_us}).first;
  }
  Bucket& bucket = found->second;
  bucket.tokens = tokens_of(bucket, now_us);
  bucket.at_us = now_us;
  if (bucket.tokens >= 1) {
    bucket.tokens -= 1;
    return std::chrono::seconds(0);
  }
  ++throttled_;
  return std::chrono::seconds(static_cast<std::int64_t>(std::ceil((1 - bucket.tokens) / kPerSecond)));
}

bool FailureThrottle::is_suspect(std::string_view source, std::int64_t now_us) const {
  const std::lock_guard lock(mutex_);
  const auto found = buckets_.find(std::string(source));
  return found != buckets_.end() && tokens_of(found->second, now_us) < 1;
}

double FailureThrottle::tokens_of(const Bucket& bucket, std::int64_t now_us) {
  const double passed = static_cast<double>(std::max<std::int64_t>(0, now_us - bucket.at_us)) / 1e6;
  return std::min(kBurst, bucket.tokens + passed * kPerSecond);
}

std::uint64_t FailureThrottle::throttled() const {
  const std::lock_guard lock(mutex_);
  return throttled_;
}

void FailureThrottle::make_room(std::int64_t now_us) {
  std::erase_if(buckets_, [now_us](const auto& entry) {
    const double passed = static_cast<double>(now_us - entry.second.at_us) / 1e6;
    return entry.second.tokens + passed * kPerSecond >= kBurst;
  });
  if (buckets_.size() >= kSources) buckets_.erase(buckets_.begin());
}

}  // namespace sluice::server::auth
