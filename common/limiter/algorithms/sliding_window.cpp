#include "common/limiter/algorithms/sliding_window.hpp"

namespace sluice::limiter {

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

Charged charge_sliding_window(const Terms& terms, double* values, double now, double charge, bool /*allowed*/) {
  double into = modulo(now, terms.p);
  values[1] += charge;
  double carried = std::ceil(values[0] * std::ceil((terms.p - into) / terms.q) / std::ceil(terms.p / terms.q));
  double reset = values[1] > 0 ? 2 * terms.p - into : values[0] > 0 ? terms.p - into : 0;
  return {terms.limit - values[1] - carried, reset, 0};
}

double sliding_tick_us(double limit, double window_us, std::uint32_t /*counter_id*/) {
  double tick = 1;
  while (limit * std::ceil(window_us / tick) > kExact)
    tick *= 1000;  // at most 1 s, because common/domain/limit_numbers refuses limits that need a longer tick
  return tick;
}

}  // namespace sluice::limiter
