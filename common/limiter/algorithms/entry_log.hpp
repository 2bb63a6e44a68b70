// Sliding window log. In Redis: lua/check/sliding_window_log.lua. It is exact, because it stores every charge of the
// window as an entry. There are at most 10,000 entries.
// Of the rule's parameters (Rule in program.hpp), p is the window in µs, and q is the counter id.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string_view>

#include "common/limiter/algorithms/algorithm.hpp"

namespace sluice::limiter {

class EntryLog final : public Entries {
 public:
  // Judges by the entries of the last window, if they belong to the counter `id`. After the clock has stepped back, the
  // last entry can be more than a window later than `now`. Then no entry counts, and charge() removes them all, so that
  // they do not count again when the clock gets near their times.
  Judged judge(const Terms& terms, double now, std::uint32_t id) override;
  Charged charge(const Terms& terms, double now, double charge, std::string_view member = {}) override;

  double expires_ms() const override { return expires_ms_; }
  bool empty() const override { return entries_.empty(); }
  std::size_t bytes() const override { return sizeof *this + kDequeBytes + entries_.size() * sizeof(Entry); }

 private:
  static constexpr std::size_t kDequeBytes = 600;  // of an empty deque: its map and one block

  struct Entry {
    double time;
    double running;  // running sum: the costs of all entries up to this one, including it
    double cost;
  };
  std::deque<Entry> entries_;
  std::uint32_t id_ = 0;
  double expires_ms_ = 0;

  // Found by judge():
  std::uint32_t judged_id_ = 0;
  double sum_ = 0;        // the costs of the entries that count
  std::size_t dead_ = 0;  // number of entries at the front that no longer count
  bool ahead_ = false;    // no entry counts, because the last one is more than a window later than `now`
};

inline std::unique_ptr<Entries> make_entry_log() { return std::make_unique<EntryLog>(); }
inline double log_q(double /*limit*/, double /*p*/, std::uint32_t counter_id) { return counter_id; }

}  // namespace sluice::limiter
