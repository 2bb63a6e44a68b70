// What every algorithm is given and what it answers.
//
// All numbers are integers below 2^53 held in doubles and are combined in the very expressions the scripts use, so both
// give the same answer to the microsecond.
#pragma once

#include <cmath>
#include <cstdint>
#include <string_view>

#include "common/limiter/kind.hpp"

namespace sluice::limiter {

// One limit in one call: a Rule with what the call and an override made of it.
struct Terms {
  Kind kind = Kind::token_bucket;
  double cost = 0;  // in the limit's unit; 0 reads
  double limit = 0;
  double p = 0;
  double q = 0;
  double max_delay_us = 0;
};

struct Judged {
  double over = 0;     // above 0: the cost does not fit, by how much in the algorithm's own measure
  double wait_us = 0;  // meaningful when over > 0: until it would fit if nobody else called
};

struct Charged {
  double left = 0;      // whole units; may be below 0 where a limit was lowered
  double reset_us = 0;  // until the limit is untouched if nobody calls
  double hold_us = 0;   // how long this call is to be delayed
};

// The state of a limit that keeps every entry, beside the state key.
class Entries {
 public:
  virtual ~Entries() = default;

  // Brings the entries forward to `now`, judges, and remembers for charge() what it found. Charges nothing. Entries of
  // another counter than `counter_id` count nothing.
  virtual Judged judge(const Terms& terms, double now, std::uint32_t counter_id) = 0;
  // Charges `charge` units (0: reports only). `member` names the lease that a charge takes; others ignore it.
  // REQUIRES: judge() with the same terms and now just before.
  virtual Charged charge(const Terms& terms, double now, double charge, std::string_view member) = 0;

  virtual double expires_ms() const = 0;  // wall clock; the entries are garbage from then on
  virtual bool empty() const = 0;
};

// Lua's %: the result has the divisor's sign.
inline double modulo(double a, double b) { return a - std::floor(a / b) * b; }

// Charges a count that is whole again in `until_end_us`.
inline Charged charge_count(double limit, double& count, double charge, double until_end_us) {
  count += charge;
  return {limit - count, count > 0 ? until_end_us : 0, 0};
}

// All numbers are whole and at most this, 2^53: doubles, which Lua has, hold them exactly.
inline constexpr double kExact = 9007199254740992;

}  // namespace sluice::limiter
