#include "common/sync/report_queue.hpp"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

namespace sluice::sync {
namespace {

constexpr auto key_of = []<class Count>(const Count& count) {
  if constexpr (requires { count.outcome; }) {
    return std::tie(count.tenant_id, count.policy_id, count.outcome);
  } else if constexpr (requires { count.resource; }) {
    return std::tie(count.tenant_id, count.resource);
  } else {
    return std::tie(count.tenant_id, count.policy_id, count.subject);
  }
};

// Sorts counts, adds up counts with the same key, and removes zeros.
template <class Count>
void add_up(std::vector<Count>& counts) {
  std::ranges::sort(counts, {}, key_of);
  std::size_t kept = 0;
  for (Count& count : counts) {
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

// Keeps at most `limit` counts: the highest.
template <class Count>
void add_up_foremost(std::vector<Count>& counts, std::size_t limit) {
  add_up(counts);
  if (counts.size() <= limit) return;
  std::ranges::sort(counts, std::ranges::greater(), &Count::count);
  counts.resize(limit);
}

void add_up_foremost(std::vector<ThrottledSubject>& subjects, std::vector<UnmatchedResource>& unmatched) {
  add_up_foremost(subjects, kMaxSubjectsAtOnce);
  add_up_foremost(unmatched, kMaxUnmatchedAtOnce);
}

// Sorts, and adds up what is of one policy.
void add_up(std::vector<Utilization>& all) {
  const auto policy_of = [](const Utilization& each) { return std::tie(each.tenant_id, each.policy_id); };
  std::ranges::sort(all, {}, policy_of);
  std::size_t kept = 0;
  for (Utilization& each : all) {
    if (kept > 0 && policy_of(all[kept - 1]) == policy_of(each)) {
      Utilization& sum = all[kept - 1];
      sum.decisions += each.decisions;
      sum.near_limit += each.near_limit;
      sum.used += each.used;
    } else {
      if (&all[kept] != &each) all[kept] = std::move(each);
      ++kept;
    }
  }
  all.resize(kept);
}

void keep_first(std::vector<QuotaReached>& quotas, std::size_t limit) {
  if (quotas.size() > limit) quotas.erase(quotas.begin() + static_cast<std::ptrdiff_t>(limit), quotas.end());
}

void keep_keys(std::vector<std::string>& keys) {
  std::ranges::sort(keys);
  const auto twice = std::ranges::unique(keys);
  keys.erase(twice.begin(), twice.end());
  if (keys.size() > kMaxKeysAtOnce) keys.resize(kMaxKeysAtOnce);
}

}  // namespace

void ReportQueue::add(WallTime from, WallTime to, std::vector<UsageCount> counts,
                      std::vector<ThrottledSubject> subjects, std::vector<UnmatchedResource> unmatched,
                      std::vector<QuotaReached> quotas, std::vector<std::string> keys,
                      std::vector<Utilization> utilization) {
  add_up(counts);
  add_up(utilization);
  add_up_foremost(subjects, unmatched);
  keep_first(quotas, kMaxQuotaMarksAtOnce);
  keep_keys(keys);
  if (counts.empty() && subjects.empty() && unmatched.empty() && quotas.empty() && keys.empty() &&
      utilization.empty()) {
    return;
  }
  const bool crowded = waiting_.size() >= kMaxWaitingIntervals || waiting_counts_ + counts.size() > max_waiting_counts_;
  if (crowded && !waiting_.empty()) {
    Interval& last = waiting_.back();
    waiting_counts_ -= last.counts.size();
    waiting_utilization_ -= last.utilization.size();
    last.to = std::max(last.to, to);
    std::ranges::move(counts, std::back_inserter(last.counts));
    add_up(last.counts);
    std::ranges::move(subjects, std::back_inserter(last.subjects));
    std::ranges::move(unmatched, std::back_inserter(last.unmatched));
    add_up_foremost(last.subjects, last.unmatched);
    std::ranges::move(quotas, std::back_inserter(last.quotas));
    keep_first(last.quotas, kMaxQuotaMarksAtOnce);
    std::ranges::move(keys, std::back_inserter(last.keys));
    keep_keys(last.keys);
    std::ranges::move(utilization, std::back_inserter(last.utilization));
    add_up(last.utilization);
  } else {
    waiting_.push_back({.from = from,
                        .to = to,
                        .counts = std::move(counts),
                        .subjects = std::move(subjects),
                        .unmatched = std::move(unmatched),
                        .quotas = std::move(quotas),
                        .keys = std::move(keys),
                        .utilization = std::move(utilization)});
  }
  bound_counts(waiting_.back());
  bound_utilization(waiting_.back());
  waiting_counts_ += waiting_.back().counts.size();
  waiting_utilization_ += waiting_.back().utilization.size();
  if (waiting_.back().empty()) waiting_.pop_back();
}

// Drops counts of `interval` until all waiting counts fit. REQUIRES: waiting_counts_ does not include `interval`.
void ReportQueue::bound_counts(Interval& interval) {
  const std::size_t room = max_waiting_counts_ - waiting_counts_;
  while (interval.counts.size() > room) {
    dropped_ += static_cast<std::uint64_t>(interval.counts.back().count);
    interval.counts.pop_back();
  }
}

// REQUIRES: waiting_utilization_ does not include `interval`.
void ReportQueue::bound_utilization(Interval& interval) const {
  const std::size_t room = std::min(kMaxUtilizationsAtOnce, max_waiting_counts_ - waiting_utilization_);
  if (interval.utilization.size() > room) interval.utilization.resize(room);
}

std::span<const UsageReport> ReportQueue::to_send() {
  std::size_t room = max_counts_at_once_;
  std::size_t room_for_subjects = kMaxSubjectsAtOnce;
  std::size_t room_for_unmatched = kMaxUnmatchedAtOnce;
  std::size_t room_for_quotas = kMaxQuotaMarksAtOnce;
  std::size_t room_for_keys = kMaxKeysAtOnce;
  std::size_t room_for_utilization = kMaxUtilizationsAtOnce;
  for (const UsageReport& report : sent_) {
    room -= report.counts.size();
    room_for_subjects -= report.subjects.size();
    room_for_unmatched -= report.unmatched.size();
    room_for_quotas -= report.quotas.size();
    room_for_keys -= report.keys.size();
    room_for_utilization -= report.utilization.size();
  }
  while (!waiting_.empty() && room > 0 && sent_.size() < kMaxSentReports) {
    Interval& interval = waiting_.front();
    if (interval.subjects.size() > room_for_subjects || interval.unmatched.size() > room_for_unmatched ||
        interval.quotas.size() > room_for_quotas || interval.utilization.size() > room_for_utilization) {
      break;
    }
    room_for_subjects -= interval.subjects.size();
    room_for_unmatched -= interval.unmatched.size();
    room_for_quotas -= interval.quotas.size();
    interval.keys.resize(std::min(interval.keys.size(), room_for_keys));
    room_for_keys -= interval.keys.size();
    room_for_utilization -= interval.utilization.size();
    const std::size_t count = std::min(room, interval.counts.size());
    make_report(interval, count);
    room -= count;
    if (interval.empty()) waiting_.pop_front();
  }
  return sent_;
}

// Moves all subjects, resources, quotas, keys and utilization of the interval, and its last `count` counts, into a new
// report.
void ReportQueue::make_report(Interval& interval, std::size_t count) {
  const auto first = interval.counts.end() - static_cast<std::ptrdiff_t>(count);
  UsageReport& report = sent_.emplace_back();
  report.number = next_number_++;
  report.from = interval.from;
  report.to = interval.to;
  report.counts.assign(std::move_iterator(first), std::move_iterator(interval.counts.end()));
  report.subjects = std::exchange(interval.subjects, {});
  report.unmatched = std::exchange(interval.unmatched, {});
  report.quotas = std::exchange(interval.quotas, {});
  report.keys = std::exchange(interval.keys, {});
  waiting_utilization_ -= interval.utilization.size();
  report.utilization = std::exchange(interval.utilization, {});
  interval.counts.erase(first, interval.counts.end());
  waiting_counts_ -= count;
}

bool ReportQueue::confirm_stored(std::int64_t number) {
  if (number >= next_number_) return false;
  std::erase_if(sent_, [number](const UsageReport& report) { return report.number <= number; });
  last_stored_ = std::max(last_stored_, number);
  return true;
}

}  // namespace sluice::sync
