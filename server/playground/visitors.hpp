// How often callers without a token may use the playground: a token bucket for each address, and one for all of them.
//
// Thread: the event loop's. Memory: at most kAddresses buckets.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

namespace sluice::server::playground {

// What counts as one address: an IPv4 address, and the /64 of an IPv6 address, because an end user has a whole one.
std::string visitor_of(std::string_view address);

class Visitors {
 public:
  static constexpr double kBurst = 100;         // calls of one address at once
  static constexpr double kPerSecond = 10;      // further calls of it a second
  static constexpr double kTotalBurst = 1'000;  // the same for all addresses together
  static constexpr double kTotalPerSecond = 100;
  // With more addresses, those with a full bucket are forgotten, or one arbitrary address if no bucket is full.
  static constexpr std::size_t kAddresses = 10'000;

  // Returns 0 if the call may go on, else how long until the next one may. Only a call that may go on is charged.
  // `now_us`: Unix time in µs.
  std::chrono::seconds charge(std::string_view address, std::int64_t now_us);

  std::size_t addresses() const { return buckets_.size(); }

 private:
  struct Bucket {
    double tokens = 0;
    std::int64_t at_us = 0;
  };
  static double tokens_of(const Bucket& bucket, std::int64_t now_us, double burst, double per_second);
  void make_room(std::int64_t now_us);

  std::unordered_map<std::string, Bucket> buckets_;
  Bucket total_{.tokens = kTotalBurst, .at_us = 0};
  std::int64_t swept_at_us_ = 0;  // when make_room() last looked at all buckets
};

}  // namespace sluice::server::playground
