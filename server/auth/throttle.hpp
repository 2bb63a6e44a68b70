// Failed authentications, counted for each source: one that fails too often hears 429 instead of 401 until it has
// calmed down. A good token always passes, from any source: nobody can lock its owner out by failing beside him.
//
// Thread safety: all functions from any thread. Time is a parameter.
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
  static constexpr double kBurst = 20;     // failures at once
  static constexpr double kPerSecond = 1;  // and then
  static constexpr std::size_t kSources =
      10'000;  // remembered; above, those that have calmed down are forgotten, then any

  // One more failure of `source` at `now_us`: how long until it may fail again, 0 while it may now.
  std::chrono::seconds failed(std::string_view source, std::int64_t now_us);

  // Has it failed so often that its next failure would be answered 429?
  bool is_suspect(std::string_view source, std::int64_t now_us) const;

  std::uint64_t throttled() const;  // failures answered 429

 private:
  struct Bucket {
    double tokens = kBurst;
    std::int64_t at_us = 0;
  };
  static double tokens_of(const Bucket& bucket, std::int64_t now_us);
  void make_room(std::int64_t now_us);

  mutable std::mutex mutex_;
  std::unordered_map<std::string, Bucket> buckets_;
  std::uint64_t throttled_ = 0;
};

}  // namespace sluice::server::auth
