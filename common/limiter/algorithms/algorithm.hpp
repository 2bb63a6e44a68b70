// The parameters and results that all algorithms share.
//
// All numbers are whole numbers below 2^53 in doubles. The expressions are the same as in lua/check/, so that Redis
// gives the same answers.
#pragma once

#include <cmath>
#include <cstdint>
#include <string_view>

#include "common/limiter/kind.hpp"

namespace sluice::limiter {

// The cost of one call under one limit, and the numbers of the limit's Rule or override.
struct Terms {
  Kind kind = Kind::token_bucket;
  double cost = 0;
  double limit = 0;
  double p = 0;  // p and q: see Rule in program.hpp
  double q = 0;
  double max_delay_us = 0;
};

struct Judged {
  double over = 0;     // above 0 if the cost does not fit; the unit depends on the algorithm
  double wait_us = 0;  // valid if over > 0: time until the cost fits, if nothing is charged meanwhile
};

struct Charged {
  double left = 0;      // units; may be below 0 after a limit was lowered
  double reset_us = 0;  // time until the full limit is available, if nothing is charged meanwhile
  double hold_us = 0;   // how long the caller must delay this request
};

// An override can replace the window of a limit; it then has a counter of its own. These are the plan's numbers of that
// limit.
struct BaseWindow {
  double window_us = 0;
  double limit = 0;
  std::uint32_t counter_id = 0;
};

// The state of a limit that stores each charge as an entry: a log, or leases.
class Entries {
 public:
  virtual ~Entries() = default;

  // Judges at `now` (µs), without charging. A log ignores its entries if they were charged to another counter than
  // `counter_id` (Rule in program.hpp). `base`: nullptr unless an override replaces the window.
  virtual Judged judge(const Terms& terms, double now, std::uint32_t counter_id, const BaseWindow* base) = 0;
  // Charges `charge` units; 0 only reports, but for what must be written down at once: dead entries after the clock has
  // stepped back, and that an override has begun. `member` names the lease that a charge takes; a log ignores it.
  // REQUIRES: judge() was called just before, with the same `terms` and `now`.
  virtual Charged charge(const Terms& terms, double now, double charge, std::string_view member) = 0;

  // For when memory is short: makes one entry of the newest two, which counts as long as the newer one. So no more is
  // admitted than before, but what the older entry has charged comes back later. Leases stay, because each is released
  // by itself.
  virtual void merge_newest() {}

  virtual double expires_ms() const = 0;  // wall clock
  virtual bool empty() const = 0;
  virtual std::size_t bytes() const = 0;  // roughly
};

// Lua's %: the result has the divisor's sign.
inline double modulo(double a, double b) { return a - std::floor(a / b) * b; }

inline Charged charge_count(double limit, double& count, double charge, double until_end_us) {
  count += charge;
  return {limit - count, count > 0 ? until_end_us : 0, 0};
}

// 2^53: doubles hold all whole numbers up to here exactly.
inline constexpr double kExact = 9007199254740992;

}  // namespace sluice::limiter
