// The algorithms whose whole state is one or two numbers, as pure functions; lua/check.lua says the same in Lua.
//
// All numbers are integers below 2^53 held in doubles and are combined in the very expressions the script uses, so both
// give the same answer to the microsecond. Logs and leases, which keep entries, are in entry_log.hpp and lease_set.hpp.
#pragma once

#include "common/limiter/program.hpp"

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

// Brings `values` (one or two, by kind) forward from `last`, the time of the last charge, to `now` ≥ last and judges.
// A bucket's value is in 1/q units between judge() and charge(), in units in the state.
// REQUIRES: kind below log; for a quota, now in [p, q).
Judged judge(const Terms& terms, double* values, double now, double last);

// Charges `charge` units (0: reports only) to values that judge() brought forward.
Charged charge(const Terms& terms, double* values, double now, double charge, bool allowed);

// Whether the cost can never fit, however long one waits. REQUIRES: it does not fit now.
bool never_fits(const Terms& terms);

}  // namespace sluice::limiter
