// Sums the reports of many agents into the rows that one transaction adds to PostgreSQL: one row per minute, tenant,
// policy and outcome, one per minute, tenant and policy for utilization, one per hour, tenant, policy and throttled
// subject, and one per hour, tenant and unmatched resource. Reached quotas are passed on as they are; of a key's uses
// only the last one.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "common/domain/plan.hpp"
#include "server/fleet/usage_pending.hpp"

namespace sluice::server::fleet {

struct UsageRow {
  std::int64_t begin = 0;  // of the minute or hour, Unix time in seconds
  std::string tenant_id;
  std::string policy_id;        // "" for an unmatched resource
  std::string name;             // an outcome, a throttled subject, or an unmatched resource
  std::string organization_id;  // "" if the tenant was deleted
  std::int64_t count = 0;

  bool operator==(const UsageRow&) const = default;
};

struct QuotaRow {
  sluice::sync::QuotaReached reached;
  std::string organization_id;  // "" if the tenant was deleted

  bool operator==(const QuotaRow&) const = default;
};

// A key that agents of one scope have seen used.
struct KeyUseRow {
  std::string key_id;
  AgentScope scope;
  std::int64_t used_at = 0;  // Unix time in seconds

  bool operator==(const KeyUseRow&) const = default;
};

struct UtilizationRow {
  std::int64_t begin = 0;       // of the minute, Unix time in seconds
  std::string organization_id;  // "" if the tenant was deleted
  sluice::sync::Utilization utilization;

  bool operator==(const UtilizationRow&) const = default;
};

using OrganizationByTenant = std::map<std::string, std::string, std::less<>>;

struct UsageBatch {
  std::vector<UsageRow> minutes;            // decisions; sorted by all members but `count`, without duplicates
  std::vector<UsageRow> hours;              // denials by throttled subject; sorted like `minutes`
  std::vector<UsageRow> unmatched;          // checks by unmatched resource, of one hour each; sorted like `minutes`
  std::vector<UtilizationRow> utilization;  // sorted by minute, tenant, policy and organization, without duplicates
  std::vector<KeyUseRow> keys;              // sorted by key, one for each scope
  std::vector<QuotaRow> quotas;             // in the order of arrival; several agents may report the same
  std::vector<Mark> marks;         // the new mark of each boot (one run of an agent), in the order of `taken` below
  std::uint64_t stored = 0;        // reports that the rows include
  std::uint64_t replayed = 0;      // reports that a server counted before
  std::uint64_t out_of_scope = 0;  // decisions, denials and quotas of tenants outside the scope of the agent's token
};

// `marks[i]`: the number of the last stored report of taken[i].boot. A tenant that is missing in
// `organization_by_tenant` was deleted; its usage still counts if the scope of the agent's token is the platform. Times
// after `now` count as `now`.
UsageBatch aggregate(std::span<const BootReports> taken, std::span<const std::int64_t> marks,
                     const OrganizationByTenant& organization_by_tenant, WallTime now);

// Sorted, without duplicates.
std::vector<std::string> tenants_in(std::span<const BootReports> taken);

}  // namespace sluice::server::fleet
