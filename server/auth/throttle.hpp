// Counts failed authentications by source address, with one token bucket for each source. A source that fails too often
// gets 429 instead of 401. A valid token is accepted from any source, so nobody can lock out its owner by failing on
// purpose.
//
// Thread safety: all functions from any thread. Time is a parameter: `now_us` is Unix time in µs.
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
  // How many sources are kept. To make room for another source, all sources with a full bucket (no recent failure) are
  // dropped. If there are none, an arbitrary source is dropped.
  static constexpr std::size_t kSources = 10'000;

  // Counts a failure of `source`. Returns 0 if the answer to this failure is 401. Otherwise the answer is 429, and the
  // result is the time after which a further failure gets 401 again.
  std::chrono::seconds failed(std::string_view source, std::int64_t now_us);

  // Whether the next failure of `source` would get 429.
  bool is_suspect(std::string_view source, std::int64_t now_us) const;

  std::uint64_t throttled() const;  // failures answered 429

 private:
  struct Bucket {
    double tokens = kBurst;  // how many further failures get 401
    std::int64_t at_us = 0;  // time of the last failure
  };
  static double tokens_of(const Bucket& bucket, std::int64_t now_us);
  void make_room(std::int64_t now_us);

  mutable std::mutex mutex_;
  std::unordered_map<std::string, Bucket> buckets_;
  std::uint64_t throttled_ = 0;
};

}  // namespace sluice::server::auth
