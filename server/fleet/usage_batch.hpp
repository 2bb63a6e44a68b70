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
  std::string organization_id;  // "": the tenant was deleted
  std::int64_t count = 0;

  bool operator==(const UsageRow&) const = default;
};

using OrganizationByTenant = std::map<std::string, std::string, std::less<>>;

struct UsageBatch {
  std::vector<UsageRow> minutes;   // decisions by minute and outcome; sorted by all members but `count`, no duplicates
  std::vector<UsageRow> hours;     // denials by hour and throttled subject; sorted likewise
  std::vector<Mark> marks;         // the new marks of the boots, in the order of `taken` (see aggregate())
  std::uint64_t stored = 0;        // reports whose usage is in the rows
  std::uint64_t replayed = 0;      // reports numbered at or below their boot's old mark; a server counted them before
  std::uint64_t out_of_scope = 0;  // decisions and denials of tenants outside the scope of the agent's token
};

// `taken`: reports by boot (one run of an agent). `marks[i]`: the number of the last stored report of taken[i].boot.
// A tenant that is missing in `organization_by_tenant` was deleted; only agents of the platform may still report its
// usage. Times after `now` count as `now`.
UsageBatch aggregate(std::span<const BootReports> taken, std::span<const std::int64_t> marks,
                     const OrganizationByTenant& organization_by_tenant, WallTime now);

// The tenants that the reports name, sorted, without duplicates.
std::vector<std::string> tenants_in(std::span<const BootReports> taken);

}  // namespace sluice::server::fleet
