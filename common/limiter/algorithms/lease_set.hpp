// The leases of a concurrency limit, at most 10,000. In Redis: lua/check/concurrency.lua.
// Terms::p is lease_ttl in µs.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "common/domain/plan.hpp"
#include "common/limiter/algorithms/algorithm.hpp"

namespace sluice::limiter {

class LeaseSet final : public Entries {
 public:
  // Live leases expire after `now`, but not later than `now` + 2 · lease_ttl. A later expiry shows that the clock has
  // stepped back. charge() removes such a lease even if `charge` is 0.
  Judged judge(const Terms& terms, double now, std::uint32_t counter_id = 0, const BaseWindow* base = nullptr) override;
  Charged charge(const Terms& terms, double now, double charge, std::string_view member) override;

  // Returns whether the lease was live.
  bool release(std::string_view member, double now);
  // Returns the new expiry, `now` + the lease's own ttl, or 0 if the lease is not live.
  double renew(std::string_view member, double now);

  double expires_ms() const override { return expires_ms_; }
  bool empty() const override { return expiry_.empty(); }
  std::size_t bytes() const override { return sizeof *this + expiry_.size() * kLeaseBytes; }

 private:
  static constexpr std::size_t kLeaseBytes = 256;  // a node in each of the two trees, and two texts

  void add(std::string_view member, double expiry);
  void erase_dead(double now, double horizon);
  using ByExpiry = std::set<std::pair<double, std::string>>;
  ByExpiry::const_iterator first_above(double expiry) const;
  bool is_live(std::string_view member, double now) const;
  void expire_with_last(double now);

  std::map<std::string, double, std::less<>> expiry_;  // by member
  ByExpiry by_expiry_;
  double expires_ms_ = 0;
  double total_ = 0;    // cost of all leases, including dead ones
  double sum_ = 0;      // found by judge(): cost of the live leases
  bool ahead_ = false;  // found by judge(): some leases expire after `now` + 2 · lease_ttl
};

// The name of a lease in the store: LeaseDraw (counter_store.hpp), the lease's weight (its cost) and ttl, packed.
std::string lease_member(std::string_view draw, double weight, double ttl_us);
inline constexpr std::size_t kLeaseMemberSize = 28;
double lease_weight(std::string_view member);
double lease_ttl_us(std::string_view member);

inline std::unique_ptr<Entries> make_lease_set() { return std::make_unique<LeaseSet>(); }
inline double lease_p(const Limit& limit) { return static_cast<double>(limit.lease_ttl.count()); }

}  // namespace sluice::limiter
