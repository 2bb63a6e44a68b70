#include "common/limiter/algorithms/fixed_window.hpp"

namespace sluice::limiter {

Judged judge_fixed_window(const Terms& terms, double* values, double now, double last) {
  double into = modulo(now, terms.p);
  if (now - into > last) values[0] = 0;
  return {values[0] + terms.cost - terms.limit, terms.p - into};
}

Charged charge_fixed_window(const Terms& terms, double* values, double now, double charge, bool /*allowed*/) {
  return charge_count(terms.limit, values[0], charge, terms.p - modulo(now, terms.p));
}

Judged judge_first_window(const Terms& terms, double* values, double now, double /*last*/) {
  if (values[0] > now) values[0] = now;
  if (values[1] == 0 || now >= values[0] + terms.p) {
    values[0] = now;
    values[1] = 0;
  }
  return {values[1] + terms.cost - terms.limit, values[0] + terms.p - now};
}

Charged charge_first_window(const Terms& terms, double* values, double now, double charge, bool /*allowed*/) {
  return charge_count(terms.limit, values[1], charge, values[0] + terms.p - now);
}

}  // namespace sluice::limiter
