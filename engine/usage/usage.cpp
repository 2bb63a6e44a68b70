#include "engine/usage/usage.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include <fmt/core.h>

#include "common/base/keyed_hash.hpp"
#include "common/telemetry/decision_log.hpp"

namespace sluice::usage {
namespace {

std::string hashed(std::string_view tenant, std::string_view subject) {
  return "sha256:" + telemetry::subject_hash(tenant, subject);
}

// Key: tenant, policy, and the subject as the report shows it.
using SubjectSums = std::map<std::tuple<std::string, std::string, std::string>, std::int64_t>;

void add_subjects(const TopSubjects& top, SubjectSums& sums) {
  top.each([&](const SubjectName& name, std::uint64_t count) {
    std::string subject = name.show_subject ? std::string(name.subject) : hashed(name.tenant, name.subject);
    sums[{std::string(name.tenant), std::string(name.policy), std::move(subject)}] += static_cast<std::int64_t>(count);
  });
}

// First the most throttled subject of each policy, then the second of each, and so on. So one policy under attack does
// not hide the others.
std::vector<sync::ThrottledSubject> top_of_each_policy(const SubjectSums& sums, std::size_t limit) {
  std::vector<sync::ThrottledSubject> all;
  for (const auto& [name, count] : sums)
    all.push_back({std::get<0>(name), std::get<1>(name), std::get<2>(name), count});
  const auto policy_of = [](const sync::ThrottledSubject& each) { return std::tie(each.tenant_id, each.policy_id); };
  std::ranges::sort(all, [&](const auto& a, const auto& b) {
    return std::tuple(policy_of(a), -a.count, std::string_view(a.subject)) <
           std::tuple(policy_of(b), -b.count, std::string_view(b.subject));
  });
  std::vector<std::tuple<std::size_t, std::int64_t, std::size_t>> ranked;  // rank in its policy, −count, index in `all`
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool first = i == 0 || policy_of(all[i - 1]) != policy_of(all[i]);
    ranked.emplace_back(first ? 0 : std::get<0>(ranked.back()) + 1, -all[i].count, i);
  }
  std::ranges::sort(ranked);
  ranked.resize(std::min(ranked.size(), limit));
  std::vector<sync::ThrottledSubject> out;
  for (const auto& each : ranked) out.push_back(std::move(all[std::get<2>(each)]));
  return out;
}

// Several workers may have seen one mark: one reached it, and others were denied.
void add_quotas(std::vector<sync::QuotaReached> more, std::vector<sync::QuotaReached>& all) {
  const auto mark_of = [](const sync::QuotaReached& each) {
    return std::tie(each.tenant_id, each.policy_id, each.plan_id, each.limit, each.counter, each.percent, each.quota,
                    each.from);
  };
  std::ranges::move(more, std::back_inserter(all));
  std::ranges::sort(all, {}, mark_of);
  const auto twice = std::ranges::unique(all, {}, mark_of);
  all.erase(twice.begin(), twice.end());
}

}  // namespace

WorkerUsage::WorkerUsage(const UsageBounds& bounds, const std::atomic<std::uint32_t>& key_interval)
    : bounds_(bounds),
      key_interval_(key_interval),
      current_(std::make_unique<Foremost>(bounds)),
      collected_(std::make_unique<Foremost>(bounds)) {
  keys_.reserve(bounds.key_bytes);
}

UsageCounters& WorkerUsage::row(std::string_view tenant, std::string_view policy) {
  const std::lock_guard lock(mutex_);
  Row* row = find_or_make(tenant, policy);
  if (row == nullptr && !policy.empty()) row = find_or_make(tenant, {});
  if (row == nullptr) return uncounted_;
  row->generation = generation_;
  return row->counters;
}

// Returns nullptr if the table is full.
WorkerUsage::Row* WorkerUsage::find_or_make(std::string_view tenant, std::string_view policy) {
  std::string name = fmt::format("{}/{}", tenant, policy);
  if (const auto found = index_.find(name); found != index_.end()) return found->second;
  // Half the table is reserved for rows without a policy.
  const std::size_t limit = policy.empty() ? 2 * bounds_.rows : bounds_.rows;
  if (free_.empty() && rows_.size() >= limit && swept_ != generation_) sweep();
  if (free_.empty() && rows_.size() >= limit) return nullptr;
  if (free_.empty()) free_.push_back(&rows_.emplace_back());
  Row* const row = free_.back();
  free_.pop_back();
  row->tenant = tenant;
  row->policy = policy;
  row->free = false;
  index_.emplace(std::move(name), row);
  return row;
}

// Frees the rows that row() has not returned since the last forget_rows(): rows of deleted policies.
void WorkerUsage::sweep() {
  swept_ = generation_;
  for (Row& row : rows_) {
    if (row.free || row.generation == generation_) continue;
    collect(row, uncollected_);
    index_.erase(fmt::format("{}/{}", row.tenant, row.policy));
    row.counters.reset();
    row.taken.fill(0);
    row.taken_shares = {};
    row.free = true;
    free_.push_back(&row);
  }
}

void WorkerUsage::throttled(std::string_view tenant, std::string_view policy, std::string_view subject,
                            ReportSubjects how) {
  if (how == ReportSubjects::off || subject.empty()) return;
  const std::lock_guard lock(foremost_mutex_);
  current_->subjects.add({tenant, policy, subject, how == ReportSubjects::named});
}

void WorkerUsage::unmatched(std::string_view tenant, std::string_view resource) {
  if (resource.empty()) return;
  const std::lock_guard lock(foremost_mutex_);
  current_->unmatched.add({tenant, {}, resource, true});
}

bool WorkerUsage::wants_mark(std::string_view tenant, std::uint64_t name) {
  const std::lock_guard lock(foremost_mutex_);
  if (marks_.contains(name)) return false;
  const std::uint64_t owner = hash_text(tenant);
  const auto known = of_tenants_.find(owner);
  if (marks_.size() >= bounds_.quotas || (known != of_tenants_.end() && known->second >= bounds_.quotas_of_tenant)) {
    dropped_quotas_.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  marks_.insert(name);
  ++of_tenants_[owner];
  return true;
}

void WorkerUsage::reached(sync::QuotaReached quota) {
  const std::lock_guard lock(foremost_mutex_);
  quotas_.push_back(std::move(quota));
}

void WorkerUsage::key_used(std::string_view id) noexcept {
  const std::lock_guard lock(foremost_mutex_);
  if (keys_.size() + id.size() < keys_.capacity()) keys_.append(id).push_back(' ');
}

void WorkerUsage::take_keys(std::vector<std::string>& out) {
  const std::lock_guard lock(foremost_mutex_);
  for (std::size_t begin = 0; begin < keys_.size();) {
    const std::size_t end = keys_.find(' ', begin);
    out.push_back(keys_.substr(begin, end - begin));
    begin = end + 1;
  }
  keys_.clear();
}

std::uint64_t WorkerUsage::dropped() const {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < kUsageOutcomes; ++i) {
    const auto outcome = static_cast<UsageOutcome>(i);
    if (outcome != UsageOutcome::shadow_allowed && outcome != UsageOutcome::shadow_denied) sum += uncounted_.value(i);
  }
  return sum;
}

void WorkerUsage::collect(Row& row, Collected& out) {
  for (std::size_t i = 0; i < kUsageOutcomes; ++i) {
    const std::uint64_t value = row.counters.value(i);
    if (value == row.taken[i]) continue;
    out.counts.push_back({row.tenant, row.policy, std::string(to_string(static_cast<UsageOutcome>(i))),
                          static_cast<std::int64_t>(value - row.taken[i])});
    row.taken[i] = value;
  }
  collect_shares(row, out);
}

// What belongs to decisions that are not in `judged` yet may wait for the next report.
void WorkerUsage::collect_shares(Row& row, Collected& out) {
  const UsageCounters::Shares now = row.counters.shares();
  UsageCounters::Shares& taken = row.taken_shares;
  const std::uint64_t judged = now.judged - taken.judged;
  if (judged == 0) return;
  const std::uint64_t near_limit = std::min(now.near_limit - taken.near_limit, judged);
  const std::uint64_t used = std::min(now.used - taken.used, judged * telemetry::UtilizationBuckets::kWhole);
  out.utilization.push_back({.tenant_id = row.tenant,
                             .policy_id = row.policy,
                             .decisions = static_cast<std::int64_t>(judged),
                             .near_limit = static_cast<std::int64_t>(near_limit),
                             .used = static_cast<std::int64_t>(used)});
  taken = {.judged = now.judged, .near_limit = taken.near_limit + near_limit, .used = taken.used + used};
}

void WorkerUsage::take_counts(Collected& out) {
  for (std::size_t from = 0;; from += kChunk) {
    const std::lock_guard lock(mutex_);
    for (std::size_t i = from; i < std::min(from + kChunk, rows_.size()); ++i) collect(rows_[i], out);
    if (from + kChunk < rows_.size()) continue;
    // No row can be freed now, because the lock for the last chunk is still held. So uncollected_ has the counts of all
    // rows that were freed between the chunks.
    std::ranges::move(uncollected_.counts, std::back_inserter(out.counts));
    std::ranges::move(uncollected_.utilization, std::back_inserter(out.utilization));
    uncollected_ = {};
    return;
  }
}

const WorkerUsage::Foremost& WorkerUsage::take_foremost() {
  collected_->subjects.clear();
  collected_->unmatched.clear();
  const std::lock_guard lock(foremost_mutex_);
  std::swap(current_, collected_);
  return *collected_;
}

std::vector<sync::QuotaReached> WorkerUsage::take_quotas() {
  const std::lock_guard lock(foremost_mutex_);
  marks_.clear();
  of_tenants_.clear();
  return std::exchange(quotas_, {});
}

Usage::Usage(std::size_t workers, UsageBounds bounds, WallTime start)
    : bounds_(bounds), since_(start), keys_since_(start) {
  for (std::size_t i = 0; i < workers; ++i) workers_.emplace_back(bounds_, key_interval_);
}

TakenUsage Usage::take(bool new_key_interval) {
  const std::lock_guard lock(mutex_);
  TakenUsage taken;
  SubjectSums subjects;
  SubjectSums unmatched;
  WorkerUsage::Collected collected;
  for (WorkerUsage& worker : workers_) {
    worker.take_counts(collected);
    const WorkerUsage::Foremost& foremost = worker.take_foremost();
    add_subjects(foremost.subjects, subjects);
    add_subjects(foremost.unmatched, unmatched);
    add_quotas(worker.take_quotas(), taken.quotas);
    worker.take_keys(taken.keys);
  }
  std::ranges::sort(taken.keys);
  const auto twice = std::ranges::unique(taken.keys);
  taken.keys.erase(twice.begin(), twice.end());
  // After the ids are taken: a use in between is missed in one interval, and reported in the next. The other way round,
  // it would be reported in this one, and further uses would be missed in the next.
  if (new_key_interval) key_interval_.fetch_add(1, std::memory_order_relaxed);
  taken.counts = std::move(collected.counts);
  taken.utilization = std::move(collected.utilization);
  taken.subjects = top_of_each_policy(subjects, bounds_.subjects_taken);
  for (sync::ThrottledSubject& each : top_of_each_policy(unmatched, bounds_.unmatched_taken)) {
    taken.unmatched.push_back({std::move(each.tenant_id), std::move(each.subject), each.count});
  }
  return taken;
}

// If the clock was set back, the interval has length 0.
void Usage::collect(sync::ReportQueue& queue, WallTime now) {
  const WallTime from = std::exchange(since_, std::max(since_, now));
  const bool new_key_interval = since_ - keys_since_ >= kKeyInterval;
  if (new_key_interval) keys_since_ = since_;
  TakenUsage taken = take(new_key_interval);
  queue.add(from, since_, std::move(taken.counts), std::move(taken.subjects), std::move(taken.unmatched),
            std::move(taken.quotas), std::move(taken.keys), std::move(taken.utilization));
  dropped_by_queue_.store(queue.dropped(), std::memory_order_relaxed);
}

std::uint64_t Usage::dropped_quotas() const {
  std::uint64_t sum = 0;
  for (const WorkerUsage& worker : workers_) sum += worker.dropped_quotas();
  return sum;
}

std::uint64_t Usage::dropped() const {
  std::uint64_t sum = dropped_by_queue_.load(std::memory_order_relaxed);
  for (const WorkerUsage& worker : workers_) sum += worker.dropped();
  return sum;
}

}  // namespace sluice::usage
