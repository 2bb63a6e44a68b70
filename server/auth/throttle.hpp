// Counts failed authentications with a token bucket for each source address. A source that fails too often gets 429
// instead of 401. A valid token is accepted from any source, so nobody can lock out a token's owner on purpose.
//
// Thread safety: any thread. `now_us`: Unix time in µs.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

namespace sluice::server::auth {

class FailureThrottle {
 public:
  static constexpr double kBurst = 20;     // this many failures at once get 401; the next one gets 429
  static constexpr double kPerSecond = 1;  // how many further failures get 401 each second
  // With more sources, the throttle forgets those with a full bucket, or one arbitrary source if no bucket is full.
  static constexpr std::size_t kSources = 10'000;

  // Returns 0 if this failure gets 401. If it gets 429, returns the time until a failure gets 401 again.
  std::chrono::seconds failed(std::string_view source, std::int64_t now_us);

  // Whether the next failure of `source` would get 429.
  bool is_suspect(std::string_view source, std::int64_t now_us) const;

  std::uint64_t throttled() const;  // failures answered 429

 private:
  struct Bucket {
    double tokens = kBurst;
    std::int64_t at_us = 0;  // time of the last failure
  };
  static double tokens_of(const Bucket& bucket, std::int64_t now_us);
  void make_room(std::int64_t now_us);

  mutable std::mutex mutex_;
  std::unordered_map<std::string, Bucket> buckets_;
  std::uint64_t throttled_ = 0;
};

}  // namespace sluice::server::auth
