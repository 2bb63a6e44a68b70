// Sums the reports of many agents into the rows that one transaction adds to PostgreSQL: one row per minute, tenant,
// policy and outcome, and one per hour, tenant, policy and throttled subject.
//
// Thread safety: pure functions.
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

// `name`: the outcome of decisions, or a throttled subject. `begin`: start of the minute or hour, Unix time in seconds.
struct UsageRow {
  std::int64_t begin = 0;
  std::string tenant_id;
  std::string policy_id;
  std::string name;
  std::string organization_id;
  std::int64_t count = 0;

  bool operator==(const UsageRow&) const = default;
};

using OrganizationByTenant = std::map<std::string, std::string, std::less<>>;

struct UsageBatch {
  std::vector<UsageRow> minutes;  // sorted, one row per key
  std::vector<UsageRow> hours;
  std::vector<Mark> marks;         // taken[i] has marks[i]
  std::uint64_t stored = 0;        // reports
  std::uint64_t replayed = 0;      // reports at or below their mark; a server counted them before
  std::uint64_t out_of_scope = 0;  // decisions and subjects of tenants outside the scope of the agent's token
};

// `marks[i]`: the number of the last stored report of the boot taken[i].boot. A tenant that is missing in
// `organization_by_tenant` was deleted; only agents of the platform may still report its usage. Times after `now` count
// as `now`.
UsageBatch aggregate(std::span<const BootReports> taken, std::span<const std::int64_t> marks,
                     const OrganizationByTenant& organization_by_tenant, WallTime now);

// The tenants that the reports name, sorted, without duplicates.
std::vector<std::string> tenants_in(std::span<const BootReports> taken);

}  // namespace sluice::server::fleet
