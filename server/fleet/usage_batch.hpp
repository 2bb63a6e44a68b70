// Many agents' reports as the rows that one transaction adds to what is stored: one a minute, tenant, policy and
// outcome, and one an hour and throttled subject.
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

// `name`: the outcome of decisions, or a throttled subject. `begin`: of the minute or the hour, Unix time in seconds.
struct UsageRow {
  std::int64_t begin = 0;
  std::string tenant_id;
  std::string policy_id;
  std::string name;
  std::string organization_id;
  std::int64_t count = 0;

  bool operator==(const UsageRow&) const = default;
};

using OrganizationOf = std::map<std::string, std::string, std::less<>>;  // by tenant

struct UsageBatch {
  std::vector<UsageRow> minutes;  // in the order of their keys, one row a key
  std::vector<UsageRow> hours;
  std::vector<Mark> marks;    // one for each of `taken`, in its order
  std::uint64_t stored = 0;   // reports
  std::uint64_t skipped = 0;  // reports at or below their mark: counted before, by whichever replica
  std::uint64_t refused = 0;  // decisions and subjects of tenants that the agent's token does not reach
};

// `marks`: the numbers that are stored already, one for each of `taken`. A tenant that `organization_of` does not know
// has been removed: only agents of the platform may still tell of it. What is said to be after `now` is of `now`.
UsageBatch aggregate(std::span<const TakenReports> taken, std::span<const std::int64_t> marks,
                     const OrganizationOf& organization_of, WallTime now);

// Tenants that reports name, each once, in order.
std::vector<std::string> tenants_in(std::span<const TakenReports> taken);

}  // namespace sluice::server::fleet
