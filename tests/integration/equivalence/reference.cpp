#include "tests/integration/equivalence/reference.hpp"

#include <algorithm>

namespace sluice::test {

Reference::Reference(const Limit& limit, std::optional<Micros> max_delay)
    : limit_(limit.limit),
      keeps_entries_(limit.algorithm == Algorithm::sliding_window_log || limit.algorithm == Algorithm::concurrency),
      meter_(meter_of(limit, max_delay)) {}

void Reference::expire(std::int64_t now) {
  if (!expires_ms_ || now / 1000 <= *expires_ms_) return;
  meter_->forget();
  last_charge_ = 0;
  expires_ms_.reset();
}

// Rounded up to milliseconds, at least one.
void Reference::live_for(std::int64_t us, std::int64_t now) {
  expires_ms_ = now / 1000 + std::max<std::int64_t>(1, (us + 999) / 1000);
}

std::int64_t Reference::reset_after(std::int64_t now) const {
  return first_time([&](std::int64_t r) { return meter_->untouched(now + r); });
}

LimitReport Reference::judge(std::int64_t cost, std::int64_t now, const std::string& member) {
  expire(now);
  bool written = meter_->settle(now);
  if (!keeps_entries_ && last_charge_ > now) written = true;
  LimitReport report;
  report.limit = limit_;
  report.admitted = cost == 0 || (limit_ > 0 && meter_->fits(cost, now));
  if (report.admitted) {
    report.delay_us = meter_->delay_before_charge(now);
    meter_->name_next(member);
    if (cost > 0) meter_->charge(cost, now);
    report.delay_us = std::max(report.delay_us, meter_->delay_after_charge(now));
  } else {
    const std::int64_t wait = first_time([&](std::int64_t r) { return meter_->fits(cost, now + r); });
    report.retry_after_us = limit_ == 0 || wait == kFar ? kNever : wait;
  }
  report.remaining = std::max<std::int64_t>(0, meter_->left(now));
  report.reset_after_us = reset_after(now);
  written |= report.admitted && cost > 0;
  if (written) {
    last_charge_ = now;
    live_for(report.reset_after_us, now);
  }
  return report;
}

bool Reference::release(const std::string& member, std::int64_t now) {
  expire(now);
  return meter_->release(member, now);
}

std::int64_t Reference::renew(const std::string& member, std::int64_t now) {
  expire(now);
  const std::int64_t expires = meter_->renew(member, now);
  if (expires > 0) live_for(reset_after(now), now);
  return expires;
}

}  // namespace sluice::test
