#include "common/limiter/algorithms/lease_set.hpp"

#include <cmath>
#include <cstdint>
#include <cstring>

namespace sluice::limiter {

std::string lease_member(std::string_view draw, double weight, double ttl_us) {
  std::string member(draw);
  auto units = static_cast<std::uint32_t>(weight);
  member.append(reinterpret_cast<const char*>(&units), sizeof units);
  member.append(reinterpret_cast<const char*>(&ttl_us), sizeof ttl_us);
  return member;
}

double lease_weight(std::string_view member) {
  std::uint32_t units = 0;
  std::memcpy(&units, member.data() + 16, sizeof units);
  return units;
}

double lease_ttl_us(std::string_view member) {
  double ttl = 0;
  std::memcpy(&ttl, member.data() + 20, sizeof ttl);
  return ttl;
}

LeaseSet::ByExpiry::const_iterator LeaseSet::first_above(double expiry) const {
  return by_expiry_.upper_bound({expiry, std::string(kLeaseMemberSize + 1, '\xff')});
}

Judged LeaseSet::judge(const Terms& terms, double now, std::uint32_t /*counter_id*/, const BaseWindow* /*base*/) {
  double horizon = now + 2 * terms.p;
  const auto live = first_above(now), dead = first_above(horizon);
  ahead_ = dead != by_expiry_.end();
  sum_ = total_;
  for (auto lease = by_expiry_.begin(); lease != live; ++lease) sum_ -= lease_weight(lease->second);
  for (auto lease = dead; lease != by_expiry_.end(); ++lease) sum_ -= lease_weight(lease->second);
  Judged out{sum_ + terms.cost - terms.limit, 0};
  if (out.over <= 0 || terms.cost > terms.limit) return out;
  double need = out.over;
  auto leaves = live;
  while ((need -= lease_weight(leaves->second)) > 0) ++leaves;  // the loop ends, because cost ≤ limit
  out.wait_us = leaves->first - now;
  return out;
}

void LeaseSet::erase_dead(double now, double horizon) {
  std::erase_if(by_expiry_, [&](const auto& lease) {
    bool dead = lease.first <= now || lease.first > horizon;
    if (dead) {
      total_ -= lease_weight(lease.second);
      expiry_.erase(lease.second);
    }
    return dead;
  });
}

// If an allocation fails, the set is as before.
void LeaseSet::add(std::string_view member, double expiry) {
  const auto added = by_expiry_.emplace(expiry, member).first;
  try {
    expiry_.emplace(member, expiry);
  } catch (...) {
    by_expiry_.erase(added);
    throw;
  }
}

Charged LeaseSet::charge(const Terms& terms, double now, double charge, std::string_view member) {
  double horizon = now + 2 * terms.p;
  if (charge > 0 || ahead_) {
    erase_dead(now, horizon);
    if (charge > 0) {
      add(member, now + terms.p);
      sum_ += charge;
      total_ += charge;
    }
    expire_with_last(now);
  }
  return {terms.limit - sum_, sum_ > 0 ? std::prev(first_above(horizon))->first - now : 0, 0};
}

bool LeaseSet::is_live(std::string_view member, double now) const {
  auto found = expiry_.find(member);
  return found != expiry_.end() && found->second > now && found->second <= now + 2 * lease_ttl_us(member);
}

void LeaseSet::expire_with_last(double now) {
  double last = by_expiry_.empty() ? now : by_expiry_.rbegin()->first;
  expires_ms_ = std::floor(now / 1000) + std::ceil((last - now) / 1000);
}

bool LeaseSet::release(std::string_view member, double now) {
  bool live = is_live(member, now);
  auto found = expiry_.find(member);
  if (found != expiry_.end()) {
    by_expiry_.erase({found->second, found->first});
    expiry_.erase(found);
    total_ -= lease_weight(member);
  }
  return live;
}

double LeaseSet::renew(std::string_view member, double now) {
  if (!is_live(member, now)) return 0;
  auto found = expiry_.find(member);
  auto moved = by_expiry_.extract({found->second, found->first});  // kept, so that no allocation can fail
  found->second = now + lease_ttl_us(member);
  moved.value().first = found->second;
  by_expiry_.insert(std::move(moved));
  expire_with_last(now);
  return found->second;
}

}  // namespace sluice::limiter
