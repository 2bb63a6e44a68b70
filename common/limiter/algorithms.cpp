#include "common/limiter/algorithms.hpp"

#include <algorithm>
#include <cmath>

namespace sluice::limiter {
namespace {

// Lua's %: the result has the divisor's sign.
double modulo(double a, double b) { return a - std::floor(a / b) * b; }

// Token bucket (as ATM's virtual scheduling, ITU-T I.371) and leaky bucket as a meter: spent in 1/q units, p of these
// leave in a microsecond.
Judged judge_bucket(const Terms& terms, double* values, double elapsed) {
  double spent = std::floor(values[0] * terms.q + 0.5) - elapsed * terms.p;
  if (spent < 0) spent = 0;
  values[0] = spent;
  double over = spent + (terms.cost - terms.limit) * terms.q;
  if (terms.kind == Kind::bucket_with_debt) over -= terms.max_delay_us * terms.p;
  return {over, std::min(std::ceil(over / terms.p), kExact)};
}

Charged charge_bucket(const Terms& terms, double* values, double charge, bool allowed) {
  double level = values[0];
  double spent = level + charge * terms.q;
  Charged out{terms.limit - std::ceil(spent / terms.q), std::ceil(spent / terms.p), 0};
  if (allowed && terms.kind == Kind::leaky_bucket) {
    out.hold_us = std::ceil(level / terms.p);
  } else if (allowed && terms.kind == Kind::bucket_with_debt && spent > terms.limit * terms.q) {
    out.hold_us = std::ceil((spent - terms.limit * terms.q) / terms.p);
  }
  out.reset_us = std::min(out.reset_us, kExact);  // spent before an edit, at another scale
  out.hold_us = std::min(out.hold_us, kExact);
  values[0] = spent / terms.q;
  return out;
}

Judged judge_fixed_window(const Terms& terms, double* values, double now, double last) {
  double into = modulo(now, terms.p);
  if (now - into > last) values[0] = 0;
  return {values[0] + terms.cost - terms.limit, terms.p - into};
}

// Values: the window's start and its count; it opens at the first hit.
Judged judge_first_window(const Terms& terms, double* values, double now) {
  if (values[0] > now) values[0] = now;
  if (values[1] == 0 || now >= values[0] + terms.p) {
    values[0] = now;
    values[1] = 0;
  }
  return {values[1] + terms.cost - terms.limit, values[0] + terms.p - now};
}

// Sliding window counter: the previous window's count weighs as much as of it is still inside the sliding one. Counts
// in ticks of q µs; the time left in the window is rounded up to a tick.
Judged judge_sliding_window(const Terms& terms, double* values, double now, double last) {
  double window = terms.p;
  double ticks = std::ceil(window / terms.q);
  double into = modulo(now, window);
  if (now - into > last) {
    values[0] = now - into - window > last ? 0 : values[1];
    values[1] = 0;
  }
  double free = terms.limit - values[1] - terms.cost;
  Judged out{values[0] * std::ceil((window - into) / terms.q) - free * ticks, 0};
  if (out.over > 0) {
    if (free >= 0) {
      out.wait_us = window - into - std::floor(free * ticks / values[0]) * terms.q;
    } else {
      out.wait_us = 2 * window - into - std::floor((terms.limit - terms.cost) * ticks / values[1]) * terms.q;
    }
  }
  return out;
}

Charged charge_sliding_window(const Terms& terms, double* values, double now, double charge) {
  double into = modulo(now, terms.p);
  values[1] += charge;
  double carried = std::ceil(values[0] * std::ceil((terms.p - into) / terms.q) / std::ceil(terms.p / terms.q));
  double reset = values[1] > 0 ? 2 * terms.p - into : values[0] > 0 ? terms.p - into : 0;
  return {terms.limit - values[1] - carried, reset, 0};
}

Judged judge_quota(const Terms& terms, double* values, double now, double last) {
  if (last < terms.p) values[0] = 0;
  return {values[0] + terms.cost - terms.limit, terms.q - now};
}

// A count that is whole again at `end`.
Charged charge_count(double limit, double& count, double charge, double until_end) {
  count += charge;
  return {limit - count, count > 0 ? until_end : 0, 0};
}

}  // namespace

Judged judge(const Terms& terms, double* values, double now, double last) {
  switch (terms.kind) {
    case Kind::fixed_window:
      return judge_fixed_window(terms, values, now, last);
    case Kind::first_window:
      return judge_first_window(terms, values, now);
    case Kind::sliding_window:
      return judge_sliding_window(terms, values, now, last);
    case Kind::quota:
      return judge_quota(terms, values, now, last);
    default:
      return judge_bucket(terms, values, now - last);
  }
}

Charged charge(const Terms& terms, double* values, double now, double charge, bool allowed) {
  switch (terms.kind) {
    case Kind::fixed_window:
      return charge_count(terms.limit, values[0], charge, terms.p - modulo(now, terms.p));
    case Kind::first_window:
      return charge_count(terms.limit, values[1], charge, values[0] + terms.p - now);
    case Kind::sliding_window:
      return charge_sliding_window(terms, values, now, charge);
    case Kind::quota:
      return charge_count(terms.limit, values[0], charge, terms.q - now);
    default:
      return charge_bucket(terms, values, charge, allowed);
  }
}

bool never_fits(const Terms& terms) {
  if (terms.limit == 0) return true;
  if (terms.cost <= terms.limit) return false;
  return terms.kind != Kind::bucket_with_debt || (terms.cost - terms.limit) * terms.q > terms.max_delay_us * terms.p;
}

}  // namespace sluice::limiter
