#include "common/limiter/algorithms/entry_log.hpp"

#include <algorithm>
#include <cmath>

namespace sluice::limiter {

// The index of the first entry that the base needs. It needs the entries of its window, and no more units than its
// limit: beyond that it denies whatever it has spent.
std::size_t EntryLog::needed(const BaseWindow& base, double now) const {
  const double enough = entries_.back().running - std::max(1.0, base.limit);
  const auto first = std::ranges::partition_point(
      entries_, [&](const Entry& e) { return e.time <= now - base.window_us || e.running <= enough; });
  return static_cast<std::size_t>(first - entries_.begin());
}

Judged EntryLog::judge(const Terms& terms, double now, std::uint32_t id, const BaseWindow* base) {
  judged_id_ = id;
  judged_base_id_ = base == nullptr ? std::nullopt : std::optional(base->counter_id);
  lives_us_ = base == nullptr ? terms.p : std::max(terms.p, base->window_us);
  sum_ = 0;
  dead_ = entries_.size();
  const bool begins = base != nullptr && id_ != id;
  const double lives = begins ? base->window_us : lives_us_;
  const bool ours = !entries_.empty() && charged_to(begins ? base->counter_id : id);
  ahead_ = ours && entries_.back().time > now + lives;
  const bool live = ours && !ahead_ && entries_.back().time > now - lives;
  begins_ = begins && live;
  if (!live) return {terms.cost - terms.limit, 0};

  const double since = now - std::min(lives, terms.p);
  const std::size_t needed_first = base == nullptr ? entries_.size() : needed(*base, now);
  const auto low = entries_.begin() + (begins ? static_cast<std::ptrdiff_t>(needed_first) : 0);
  auto first = std::partition_point(low, entries_.end(), [&](const Entry& e) { return e.time <= since; });
  double running = entries_.back().running;
  dead_ = std::min(needed_first, static_cast<std::size_t>(first - entries_.begin()));
  if (first != entries_.end()) sum_ = running - first->running + first->cost;
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
  if (charge > 0 || begins_) {
    if (!ahead_) entries_.erase(entries_.begin(), entries_.begin() + static_cast<std::ptrdiff_t>(dead_));
    if (charge > 0) {
      double running = entries_.empty() ? 0 : entries_.back().running;
      double time = entries_.empty() ? now : std::max(now, entries_.back().time);
      entries_.push_back({time, running + charge, charge});
      sum_ += charge;
    }
    id_ = judged_id_;
    base_id_ = judged_base_id_;
    expires_ms_ = std::floor(now / 1000) + std::ceil((entries_.back().time + lives_us_ - now) / 1000);
  }
  return {terms.limit - sum_, sum_ > 0 ? entries_.back().time + terms.p - now : 0, 0};
}

}  // namespace sluice::limiter
