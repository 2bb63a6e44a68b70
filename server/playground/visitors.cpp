#include "server/playground/visitors.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include <boost/asio/ip/address.hpp>

namespace sluice::server::playground {
namespace {

std::chrono::seconds wait_for(double tokens, double per_second) {
  return std::chrono::seconds(static_cast<std::int64_t>(std::ceil((1 - tokens) / per_second)));
}

}  // namespace

std::string visitor_of(std::string_view address) {
  boost::system::error_code error;
  const auto parsed = boost::asio::ip::make_address(std::string(address), error);
  if (error || !parsed.is_v6()) return std::string(address);
  const auto v6 = parsed.to_v6();
  if (v6.is_v4_mapped()) return boost::asio::ip::make_address_v4(boost::asio::ip::v4_mapped, v6).to_string();
  const auto bytes = v6.to_bytes();
  return std::string(bytes.begin(), bytes.begin() + 8);
}

std::chrono::seconds Visitors::charge(std::string_view address, std::int64_t now_us) {
  std::string visitor = visitor_of(address);
  auto found = buckets_.find(visitor);
  if (found == buckets_.end()) {
    if (buckets_.size() >= kAddresses) make_room(now_us);
    found = buckets_.try_emplace(std::move(visitor), Bucket{.tokens = kBurst, .at_us = now_us}).first;
  }
  const double own = tokens_of(found->second, now_us, kBurst, kPerSecond);
  const double of_all = tokens_of(total_, now_us, kTotalBurst, kTotalPerSecond);
  if (own < 1) return wait_for(own, kPerSecond);
  if (of_all < 1) return wait_for(of_all, kTotalPerSecond);
  found->second = {.tokens = own - 1, .at_us = now_us};
  total_ = {.tokens = of_all - 1, .at_us = now_us};
  return std::chrono::seconds(0);
}

// A clock that steps back gives no tokens.
double Visitors::tokens_of(const Bucket& bucket, std::int64_t now_us, double burst, double per_second) {
  const double passed = static_cast<double>(std::max<std::int64_t>(0, now_us - bucket.at_us)) / 1e6;
  return std::min(burst, bucket.tokens + passed * per_second);
}

// Looks at all buckets at most once a second, because a flood from many addresses makes room with each call.
void Visitors::make_room(std::int64_t now_us) {
  if (std::abs(now_us - swept_at_us_) >= 1'000'000) {
    swept_at_us_ = now_us;
    std::erase_if(buckets_, [now_us](const auto& entry) {
      return tokens_of(entry.second, now_us, kBurst, kPerSecond) >= kBurst;
    });
  }
  if (buckets_.size() >= kAddresses) buckets_.erase(buckets_.begin());
}

}  // namespace sluice::server::playground
