#include "common/limiter/algorithms/entry_log.hpp"

#include <algorithm>
#include <cmath>

namespace sluice::limiter {

Judged EntryLog::judge(const Terms& terms, double now, std::uint32_t id) {
  judged_id_ = id;
  sum_ = 0;
  dead_ = entries_.size();
  const bool ours = !entries_.empty() && id_ == id;
  ahead_ = ours && entries_.back().time > now + terms.p;
  if (!ours || ahead_ || entries_.back().time <= now - terms.p) return {terms.cost - terms.limit, 0};

  auto first = std::ranges::partition_point(entries_, [&](const Entry& e) { return e.time <= now - terms.p; });
  double running = entries_.back().running;
  dead_ = static_cast<std::size_t>(first - entries_.begin());
  sum_ = running - first->running + first->cost;
  Judged out{sum_ + terms.cost - terms.limit, 0};
  if (out.over > 0 && terms.cost <= terms.limit) {
    double gone = running - (terms.limit - terms.cost);
    auto leaves = std::partition_point(first, entries_.end(), [&](const Entry& e) { return e.running < gone; });
    out.wait_us = leaves->time + terms.p - now;
  }
  return out;
}

Charged EntryLog::charge(const Terms& terms, double now, double charge, std::string_view /*member*/) {
  if (ahead_) entries_.clear();
  if (charge > 0) {
    if (!ahead_) entries_.erase(entries_.begin(), entries_.begin() + static_cast<std::ptrdiff_t>(dead_));
    double running = entries_.empty() ? 0 : entries_.back().running;
    double time = entries_.empty() ? now : std::max(now, entries_.back().time);
    entries_.push_back({time, running + charge, charge});
    id_ = judged_id_;
    sum_ += charge;
    expires_ms_ = std::floor(now / 1000) + std::ceil((time + terms.p - now) / 1000);
  }
  return {terms.limit - sum_, sum_ > 0 ? entries_.back().time + terms.p - now : 0, 0};
}

}  // namespace sluice::limiter
