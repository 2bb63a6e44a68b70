// The leases of one concurrency limit: at most 10,000 of them. As lua/check.lua's sorted set.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "common/limiter/algorithms.hpp"

namespace sluice::limiter {

class LeaseSet {
 public:
  // Sums the live leases (those that expire after now and at most 2 · ttl from now) and says how long until the cost fits.
  Judged judge(const Terms& terms, double now);
  // REQUIRES: judge() with the same terms and now just before. `member` names the lease that a charge takes.
  Charged charge(const Terms& terms, double now, double charge, std::string_view member);

  // Whether the lease was live; it is gone afterwards.
  bool release(std::string_view member, double now);
  // The new expiry of a live lease, now + its own ttl; 0 where it is not live.
  double renew(std::string_view member, double now);

  double expires_ms() const { return expires_ms_; }
  bool empty() const { return expiry_.empty(); }
  void clear();

 private:
  void erase_dead(double now, double horizon);
  double last_live(double horizon) const;
  bool is_live(std::string_view member, double now) const;
  void expire_with_last(double now);

  std::map<std::string, double, std::less<>> expiry_;         // member → expiry
  std::set<std::pair<double, std::string>> by_expiry_;
  double expires_ms_ = 0;
  double total_ = 0;  // all weights, of the dead too
  double sum_ = 0;    // found by judge(): live weights
};

// A lease's name in the store: its draw, weight and ttl.
std::string lease_member(std::string_view draw, double weight, double ttl_us);
inline constexpr std::size_t kLeaseMemberSize = 28;
double lease_weight(std::string_view member);
double lease_ttl_us(std::string_view member);

}  // namespace sluice::limiter
