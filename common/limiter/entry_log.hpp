// The entries of one sliding_window_log: exact, at most 10,000 of them. As lua/check.lua's list.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

#include "common/limiter/algorithms.hpp"

namespace sluice::limiter {

class EntryLog {
 public:
  // What counts at `now` under the counter `id` (another one's entries count nothing), and how long until the cost
  // fits. Charges nothing; remembers for charge() what it found. A log whose last entry is more than a window ahead of
  // a clock that stepped back is dead, and charge() removes it, so that it does not count again when the clock comes
  // near it.
  Judged judge(const Terms& terms, double now, std::uint32_t id);
  // REQUIRES: judge() with the same terms and now just before.
  Charged charge(const Terms& terms, double now, double charge);

  double expires_ms() const { return expires_ms_; }  // wall clock; when the entries are garbage
  void clear() { entries_.clear(); }

 private:
  struct Entry {
    double time;
    double running;  // sum of all costs up to and with this one
    double cost;
  };
  std::deque<Entry> entries_;
  std::uint32_t id_ = 0;
  double expires_ms_ = 0;

  // Found by judge():
  std::uint32_t judged_id_ = 0;
  double sum_ = 0;
  std::size_t dead_ = 0;  // entries at the front that no longer count
  bool ahead_ = false;    // all are dead, being too far ahead
};

}  // namespace sluice::limiter
