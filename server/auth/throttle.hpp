// Counts failed authentications with a token bucket for each source address, and with one for all of them. A source
// that fails too often gets 429 instead of 401, and so does everybody whose authentication fails while there are too
// many failures in total. A valid token is accepted from any source, so nobody can lock out a token's owner on purpose.
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
  static constexpr double kBurst = 20;          // this many failures at once get 401; the next one gets 429
  static constexpr double kPerSecond = 1;       // how many further failures get 401 each second
  static constexpr double kTotalBurst = 1'000;  // the same for all sources together
  static constexpr double kTotalPerSecond = 100;
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
  static double tokens_of(const Bucket& bucket, std::int64_t now_us, double burst = kBurst,
                          double per_second = kPerSecond);
  // Returns the time to wait for the next token, 0 if there was one. The wait is at least 1 s.
  static std::chrono::seconds take(Bucket& bucket, std::int64_t now_us, double burst, double per_second);
  void make_room(std::int64_t now_us);

  mutable std::mutex mutex_;
  std::unordered_map<std::string, Bucket> buckets_;
  Bucket total_{.tokens = kTotalBurst, .at_us = 0};
  std::int64_t swept_at_us_ = 0;  // when make_room() last looked at all buckets
  std::uint64_t throttled_ = 0;
};

}  // namespace sluice::server::auth
