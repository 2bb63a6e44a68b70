#include "common/sync/report_queue.hpp"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

namespace sluice::sync {
namespace {

constexpr auto key_of = [](const UsageCount& count) {
  return std::tie(count.tenant_id, count.policy_id, count.outcome);
};

// Sorted, with those of one key added up, and none of 0.
void add_up(std::vector<UsageCount>& counts) {
  std::ranges::sort(counts, {}, key_of);
  std::size_t kept = 0;
  for (UsageCount& count : counts) {
    if (count.count <= 0) continue;
    if (kept > 0 && key_of(counts[kept - 1]) == key_of(count)) {
      counts[kept - 1].count += count.count;
    } else {
      if (&counts[kept] != &count) counts[kept] = std::move(count);
      ++kept;
    }
  }
  counts.resize(kept);
}

}  // namespace

void ReportQueue::add(WallTime from, WallTime to, std::vector<UsageCount> counts) {
  add_up(counts);
  if (counts.empty()) return;
  const bool crowded = waiting_.size() >= kMostWaiting || rows_ + counts.size() > most_rows_;
  if (crowded && !waiting_.empty()) {
    Interval& last = waiting_.back();
    rows_ -= last.counts.size();
    last.to = std::max(last.to, to);
    std::ranges::move(counts, std::back_inserter(last.counts));
    add_up(last.counts);
  } else {
    waiting_.push_back({.from = from, .to = to, .counts = std::move(counts)});
  }
  bound_rows(waiting_.back());
  rows_ += waiting_.back().counts.size();
  if (waiting_.back().counts.empty()) waiting_.pop_back();
}

// The last interval, whose rows are not among rows_: what is too much of it goes.
void ReportQueue::bound_rows(Interval& interval) {
  const std::size_t room = most_rows_ - rows_;
  while (interval.counts.size() > room) {
    dropped_ += static_cast<std::uint64_t>(interval.counts.back().count);
    interval.counts.pop_back();
  }
}

std::span<const UsageReport> ReportQueue::to_send() {
  if (!sent_.empty()) return sent_;
  std::size_t room = most_at_once_;
  while (!waiting_.empty() && room > 0 && sent_.size() < kMostSent) {
    Interval& interval = waiting_.front();
    const std::size_t rows = std::min(room, interval.counts.size());
    send(interval, rows);
    room -= rows;
    if (interval.counts.empty()) waiting_.pop_front();
  }
  return sent_;
}

// The last `rows` of the interval become a report; what is left of it becomes another one later.
void ReportQueue::send(Interval& interval, std::size_t rows) {
  const auto first = interval.counts.end() - static_cast<std::ptrdiff_t>(rows);
  UsageReport& report = sent_.emplace_back();
  report.number = next_number_++;
  report.from = interval.from;
  report.to = interval.to;
  report.counts.assign(std::move_iterator(first), std::move_iterator(interval.counts.end()));
  interval.counts.erase(first, interval.counts.end());
  rows_ -= rows;
}

bool ReportQueue::stored(std::int64_t number) {
  if (number >= next_number_) return false;
  std::erase_if(sent_, [number](const UsageReport& report) { return report.number <= number; });
  last_stored_ = std::max(last_stored_, number);
  return true;
}

}  // namespace sluice::sync
