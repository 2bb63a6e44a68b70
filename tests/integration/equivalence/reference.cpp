#include "tests/integration/equivalence/reference.hpp"

#include <algorithm>

namespace sluice::test {
namespace {

std::int64_t reset_after(const Meter& meter, std::int64_t now) {
  return first_time([&](std::int64_t r) { return meter.untouched(now + r); });
}

LimitReport judge_by(Meter& meter, std::int64_t limit, std::int64_t cost, std::int64_t now, const std::string& member) {
  LimitReport report;
  report.limit = limit;
  report.admitted = cost == 0 || (limit > 0 && meter.fits(cost, now));
  if (report.admitted) {
    report.delay_us = meter.delay_before_charge(now);
    meter.name_next(member);
    if (cost > 0) meter.charge(cost, now);
    report.delay_us = std::max(report.delay_us, meter.delay_after_charge(now));
  } else {
    const std::int64_t wait = first_time([&](std::int64_t r) { return meter.fits(cost, now + r); });
    report.retry_after_us = limit == 0 || wait == kFar ? kNever : wait;
  }
  report.remaining = std::max<std::int64_t>(0, meter.left(now));
  report.reset_after_us = reset_after(meter, now);
  return report;
}

}  // namespace

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

LimitReport Reference::judge(std::int64_t cost, std::int64_t now, const std::string& member) {
  expire(now);
  bool written = meter_->settle(now);
  if (!keeps_entries_ && last_charge_ > now) written = true;
  const LimitReport report = judge_by(*meter_, limit_, cost, now, member);
  const bool charged = report.admitted && cost > 0;
  written |= charged;
  if (written) {
    last_charge_ = now;
    live_for(report.reset_after_us, now);
  }
  if (charged) overrides_.clear();
  return report;
}

LimitReport Reference::judge_overridden(const Limit& overridden, std::int64_t cost, std::int64_t now) {
  std::unique_ptr<Meter>& meter = overrides_[overridden.window];
  bool written = false;
  if (!meter) {
    meter = meter_of(overridden, {});
    const std::int64_t spent = limit_ - meter_->left(now);
    if (spent > 0) {
      meter->begin(*meter_, spent, now);
      written = true;
    }
  }
  const LimitReport report = judge_by(*meter, overridden.limit, cost, now, {});
  if (report.admitted && cost > 0) {
    meter_->charge(cost, now);
    written = true;
  }
  if (written) {
    last_charge_ = now;
    expires_ms_.reset();  // the state lives as long as one of its counters, and time never steps back
    std::erase_if(overrides_, [&](const auto& other) { return other.first != overridden.window; });
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
  if (expires > 0) live_for(reset_after(*meter_, now), now);
  return expires;
}

}  // namespace sluice::test
