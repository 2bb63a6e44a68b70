#include "tests/integration/equivalence/outcome_text.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "common/domain/rate.hpp"

namespace sluice::test {
namespace {

void compare(std::string& out, std::string_view field, std::int64_t a, std::int64_t b) {
  if (a != b) out += fmt::format("  {}: {} | {}\n", field, a, b);
}

void compare(std::string& out, std::string_view where, const LimitReport& a, const LimitReport& b) {
  compare(out, fmt::format("{}admitted", where), a.admitted, b.admitted);
  compare(out, fmt::format("{}limit", where), a.limit, b.limit);
  compare(out, fmt::format("{}remaining", where), a.remaining, b.remaining);
  compare(out, fmt::format("{}reset_after_us", where), a.reset_after_us, b.reset_after_us);
  compare(out, fmt::format("{}retry_after_us", where), a.retry_after_us, b.retry_after_us);
  compare(out, fmt::format("{}delay_us", where), a.delay_us, b.delay_us);
}

bool same(const LimitReport& a, const LimitReport& b) {
  return a.admitted == b.admitted && a.limit == b.limit && a.remaining == b.remaining &&
         a.reset_after_us == b.reset_after_us && a.retry_after_us == b.retry_after_us && a.delay_us == b.delay_us;
}

bool same(const limiter::Outcome& a, const limiter::Outcome& b) {
  return a.allowed == b.allowed && a.now_us == b.now_us && a.binding == b.binding && same(a.report, b.report) &&
         a.lease_ttls_us == b.lease_ttls_us &&
         std::ranges::equal(a.limits, b.limits, [](const LimitReport& x, const LimitReport& y) { return same(x, y); });
}

}  // namespace

std::string difference(const LimitReport& a, const LimitReport& b) {
  std::string out;
  if (!same(a, b)) compare(out, "", a, b);
  return out;
}

std::string difference(const limiter::Outcome& a, const limiter::Outcome& b) {
  std::string out;
  if (same(a, b)) return out;
  compare(out, "allowed", a.allowed, b.allowed);
  compare(out, "now_us", a.now_us, b.now_us);
  compare(out, "binding", a.binding, b.binding);
  compare(out, "", a.report, b.report);
  for (std::size_t i = 0; i < kMaxLimitsPerPlan; ++i) {
    compare(out, fmt::format("lease_ttl_us[{}]", i), a.lease_ttl_us(i), b.lease_ttl_us(i));
  }
  compare(out, "limits", static_cast<std::int64_t>(a.limits.size()), static_cast<std::int64_t>(b.limits.size()));
  for (std::size_t i = 0; i < std::min(a.limits.size(), b.limits.size()); ++i) {
    compare(out, fmt::format("limits[{}].", i), a.limits[i], b.limits[i]);
  }
  return out;
}

std::string to_text(const LimitReport& r) {
  return fmt::format("{} limit {} remaining {} reset {} retry {} delay {}", r.admitted ? "admits" : "denies", r.limit,
                     r.remaining, r.reset_after_us, r.retry_after_us, r.delay_us);
}

std::string to_text(const limiter::Outcome& outcome) {
  std::string out =
      fmt::format("{} binding {} {}", outcome.allowed ? "ALLOWED" : "DENIED", outcome.binding, to_text(outcome.report));
  for (const LimitReport& report : outcome.limits) out += "\n      " + to_text(report);
  return out;
}

std::string to_text(const Limit& limit) {
  std::string out = fmt::format("{} {} {} limit {}", limit.name, to_string(limit.algorithm), limit.unit, limit.limit);
  switch (limit.algorithm) {
    case Algorithm::token_bucket:
    case Algorithm::leaky_bucket:
      out += fmt::format(" rate {}/{} us", limit.rate.units, limit.rate.per_us);
      break;
    case Algorithm::concurrency:
      out += fmt::format(" lease_ttl {} us", limit.lease_ttl.count());
      break;
    case Algorithm::quota:
      out += fmt::format(" period {}", to_string(limit.period));
      if (limit.anchor) out += fmt::format(" anchor {}", limit.anchor->time_since_epoch().count());
      break;
    default:
      out += fmt::format(" window {} us align {}", limit.window.count(), to_string(limit.align));
  }
  return limit.key_by.empty() ? out : out + " key_by method";
}

std::string to_text(const RandomPlan& plan) {
  std::string out = plan.max_delay ? fmt::format("max_delay {} us", plan.max_delay->count()) : "no delay";
  for (const Limit& limit : plan.limits) out += "\n      " + to_text(limit);
  return out;
}

std::string to_text(const limiter::OverrideEntry& entry) {
  return fmt::format("name {:08x} counter {:08x} until {} limit {} p {} q {}", entry.name_id, entry.counter_id,
                     entry.expires_us, entry.limit, entry.p, entry.q);
}

}  // namespace sluice::test
