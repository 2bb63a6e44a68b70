// Sliding window log: stores every charge of the window as an entry, at most 10,000. In Redis:
// lua/check/sliding_window_log.lua. Terms::p is the window in µs.
//
// An override of the window and the plan's limit, its base, count the same entries. The override begins with the
// entries that the base needs. While it is in force, entries stay as long as one of the two needs them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string_view>

#include "common/limiter/algorithms/algorithm.hpp"

namespace sluice::limiter {

class EntryLog final : public Entries {
 public:
  // After the clock has stepped back, the last entry can be more than a window later than `now`. Then no entry counts,
  // and charge() removes them all.
  Judged judge(const Terms& terms, double now, std::uint32_t id, const BaseWindow* base = nullptr) override;
  Charged charge(const Terms& terms, double now, double charge, std::string_view member = {}) override;

  void merge_newest() override {
    if (entries_.size() < 2) return;
    const Entry newest = entries_.back();
    entries_.pop_back();
    entries_.back() = {newest.time, newest.running, entries_.back().cost + newest.cost};
  }

  double expires_ms() const override { return expires_ms_; }
  bool empty() const override { return entries_.empty(); }
  std::size_t bytes() const override { return sizeof *this + kDequeBytes + entries_.size() * sizeof(Entry); }

 private:
  static constexpr std::size_t kDequeBytes = 600;  // of an empty deque: its map and one block

  bool charged_to(std::uint32_t counter_id) const { return id_ == counter_id || base_id_ == counter_id; }
  std::size_t needed(const BaseWindow& base, double now) const;

  struct Entry {
    double time;
    double running;  // sum of the costs up to and including this entry
    double cost;
  };
  std::deque<Entry> entries_;
  std::uint32_t id_ = 0;                  // the counter that the newest entry was charged to
  std::optional<std::uint32_t> base_id_;  // its base, if that counter is an override's
  double expires_ms_ = 0;

  // Found by judge():
  std::uint32_t judged_id_ = 0;
  std::optional<std::uint32_t> judged_base_id_;
  double lives_us_ = 0;   // how long a new entry can count, for the base too
  double sum_ = 0;        // of the costs of the entries that count
  std::size_t dead_ = 0;  // number of entries at the front that no longer count
  bool ahead_ = false;    // the last entry is more than a window later than `now`
  bool begins_ = false;   // an override begins, with entries of the base
};

inline std::unique_ptr<Entries> make_entry_log() { return std::make_unique<EntryLog>(); }
inline double log_q(double /*limit*/, double /*p*/, std::uint32_t counter_id) { return counter_id; }

}  // namespace sluice::limiter
