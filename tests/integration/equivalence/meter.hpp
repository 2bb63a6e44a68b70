// One limit's state as the documents describe it, kept exactly (128-bit integers): for the reference.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "common/domain/plan.hpp"

namespace sluice::test {

// The last instant that a search for one looks at, from now on.
inline constexpr std::int64_t kFar = std::int64_t{1} << 53;

// The smallest r in [0, kFar] for which `holds(r)`, which stays true from there on; kFar where it never does.
template <class Holds>
std::int64_t first_time(Holds holds) {
  std::int64_t low = 0, high = kFar;
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (holds(middle))
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

// The state of one limit. Instants are µs since the epoch; `at` is never before the last `settle`.
class Meter {
 public:
  virtual ~Meter() = default;
  // The clock says `now`, perhaps earlier than before: what is stored ahead of it counts as now's, and what is too far
  // ahead is gone. Says whether leases went.
  virtual bool settle(std::int64_t now) = 0;
  virtual bool fits(std::int64_t cost, std::int64_t at) const = 0;
  virtual bool untouched(std::int64_t at) const = 0;
  virtual std::int64_t left(std::int64_t at) const = 0;  // may be below 0
  virtual void charge(std::int64_t cost, std::int64_t now) = 0;
  virtual void forget() = 0;
  // As the counter of an override, while untouched: begins with what the plan's counter `base` has spent.
  virtual void begin(const Meter& base, std::int64_t spent, std::int64_t now) {
    (void)base;
    charge(spent, now);
  }

  // How long this admitted call is to be delayed, with what was there before it and after it.
  virtual std::int64_t delay_before_charge(std::int64_t) const { return 0; }
  virtual std::int64_t delay_after_charge(std::int64_t) const { return 0; }

  // Leases only.
  virtual bool release(const std::string&, std::int64_t) { return false; }
  virtual std::int64_t renew(const std::string&, std::int64_t) { return 0; }  // its new expiry
  virtual void name_next(const std::string&) {}                               // the member that the next charge takes
};

std::unique_ptr<Meter> meter_of(const Limit& limit, std::optional<Micros> max_delay);

}  // namespace sluice::test
