#include "server/fleet/usage_batch.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "server/fleet/state_text.hpp"

namespace sluice::server::fleet {
namespace {

// The members of a UsageRow, without `count`.
using Key = std::tuple<std::int64_t, std::string, std::string, std::string, std::string>;
using Sums = std::map<Key, std::int64_t>;

constexpr std::int64_t kMaxCount = std::int64_t{1} << 60;  // far below the limit of PostgreSQL's bigint

std::vector<UsageRow> rows_of(const Sums& sums) {
  std::vector<UsageRow> rows;
  rows.reserve(sums.size());
  for (const auto& [key, count] : sums) {
    const auto& [begin, tenant, policy, name, organization] = key;
    rows.push_back({begin, tenant, policy, name, organization, count});
  }
  return rows;
}

class Aggregation {
 public:
  Aggregation(const OrganizationByTenant& organization_by_tenant, WallTime now)
      : organization_by_tenant_(organization_by_tenant), now_(now) {}

  void add(const BootReports& taken, std::int64_t mark) {
    std::int64_t number = mark;
    for (const sluice::sync::UsageReport& report : taken.reports) {
      if (report.number <= mark) {
        ++batch_.replayed;
        continue;
      }
      add(taken.scope, report);
      ++batch_.stored;
      number = report.number;
    }
    batch_.marks.push_back({.boot = taken.boot, .number = number});
  }

  UsageBatch finish() {
    for (auto& [key, sum] : utilization_) {
      const auto& [begin, tenant, policy, organization] = key;
      batch_.utilization.push_back({.begin = begin, .organization_id = organization, .utilization = std::move(sum)});
    }
    batch_.minutes = rows_of(minutes_);
    batch_.hours = rows_of(hours_);
    batch_.unmatched = rows_of(unmatched_);
    for (auto& [key, used_at] : keys_) {
      const auto& [id, organization, tenants] = key;
      batch_.keys.push_back(
          {.key_id = id, .scope = {.organization_id = organization, .tenant_ids = tenants}, .used_at = used_at});
    }
    return std::move(batch_);
  }

 private:
  void add(const AgentScope& scope, const sluice::sync::UsageReport& report) {
    const auto begin = std::chrono::floor<std::chrono::minutes>(std::min(report.from, now_));
    const auto hour = std::chrono::floor<std::chrono::hours>(begin);
    const auto seconds = [](auto time) {
      return std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count();
    };
    for (const sluice::sync::UsageCount& count : report.counts) {
      add(minutes_, scope, {seconds(begin), count.tenant_id, count.policy_id, count.outcome, {}, count.count});
    }
    for (const sluice::sync::ThrottledSubject& subject : report.subjects) {
      add(hours_, scope,
          {seconds(hour), subject.tenant_id, subject.policy_id, without_nul(subject.subject), {}, subject.count});
    }
    for (const sluice::sync::UnmatchedResource& each : report.unmatched) {
      add(unmatched_, scope, {seconds(hour), each.tenant_id, {}, without_nul(each.resource), {}, each.count});
    }
    for (const sluice::sync::QuotaReached& each : report.quotas) add(scope, each);
    for (const std::string& id : report.keys) {
      std::int64_t& used_at = keys_[{id, scope.organization_id, scope.tenant_ids}];
      used_at = std::max(used_at, seconds(std::min(report.to, now_)));
    }
    for (const sluice::sync::Utilization& each : report.utilization) add(scope, seconds(begin), each);
  }

  void add(const AgentScope& scope, std::int64_t begin, const sluice::sync::Utilization& more) {
    const auto organization = find_organization(scope, more.tenant_id);
    if (!organization) return;  // its counts say so
    sluice::sync::Utilization& sum = utilization_[{begin, more.tenant_id, more.policy_id, *organization}];
    sum.tenant_id = more.tenant_id;
    sum.policy_id = more.policy_id;
    sum.decisions = std::min(sum.decisions + more.decisions, kMaxCount);
    sum.near_limit = std::min(sum.near_limit + more.near_limit, kMaxCount);
    sum.used = std::min(sum.used + more.used, kMaxCount);
  }

  void add(const AgentScope& scope, const sluice::sync::QuotaReached& reached) {
    auto organization = find_organization(scope, reached.tenant_id);
    if (!organization) {
      ++batch_.out_of_scope;
      return;
    }
    batch_.quotas.push_back({reached, *std::move(organization)});
    batch_.quotas.back().reached.subject = without_nul(reached.subject);
  }

  void add(Sums& sums, const AgentScope& scope, UsageRow row) {
    const auto organization = find_organization(scope, row.tenant_id);
    if (!organization) {
      batch_.out_of_scope += static_cast<std::uint64_t>(row.count);
      return;
    }
    std::int64_t& sum =
        sums[{row.begin, std::move(row.tenant_id), std::move(row.policy_id), std::move(row.name), *organization}];
    sum = std::min(sum + std::min(row.count, kMaxCount), kMaxCount);
  }

  // Returns nullopt if the tenant is outside the scope. Returns "" for a deleted tenant if the scope is the platform.
  std::optional<std::string> find_organization(const AgentScope& scope, const std::string& tenant) const {
    const auto found = organization_by_tenant_.find(tenant);
    const std::string organization = found == organization_by_tenant_.end() ? "" : found->second;
    if (scope.organization_id.empty()) return organization;
    const bool own = organization == scope.organization_id &&
                     (scope.tenant_ids.empty() || std::ranges::binary_search(scope.tenant_ids, tenant));
    return own ? std::optional(organization) : std::nullopt;
  }

  const OrganizationByTenant& organization_by_tenant_;
  WallTime now_;
  Sums minutes_;
  Sums hours_;
  Sums unmatched_;
  std::map<std::tuple<std::string, std::string, std::vector<std::string>>, std::int64_t> keys_;  // by id and scope
  std::map<std::tuple<std::int64_t, std::string, std::string, std::string>, sluice::sync::Utilization> utilization_;
  UsageBatch batch_;
};

}  // namespace

UsageBatch aggregate(std::span<const BootReports> taken, std::span<const std::int64_t> marks,
                     const OrganizationByTenant& organization_by_tenant, WallTime now) {
  Aggregation aggregation(organization_by_tenant, now);
  for (std::size_t i = 0; i < taken.size(); ++i) aggregation.add(taken[i], marks[i]);
  return aggregation.finish();
}

std::vector<std::string> tenants_in(std::span<const BootReports> taken) {
  std::set<std::string> tenants;
  for (const BootReports& each : taken) {
    for (const sluice::sync::UsageReport& report : each.reports) {
      for (const auto& count : report.counts) tenants.insert(count.tenant_id);
      for (const auto& subject : report.subjects) tenants.insert(subject.tenant_id);
      for (const auto& unmatched : report.unmatched) tenants.insert(unmatched.tenant_id);
      for (const auto& reached : report.quotas) tenants.insert(reached.tenant_id);
      for (const auto& used : report.utilization) tenants.insert(used.tenant_id);
    }
  }
  return {tenants.begin(), tenants.end()};
}

}  // namespace sluice::server::fleet
