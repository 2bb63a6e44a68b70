// Reads and writes the fleet in PostgreSQL. The number of statements does not depend on the number of agents.
//
// The functions throw what libpqxx throws. REQUIRES: the transaction has entered Scope::everything().
#pragma once

#include <chrono>
#include <span>
#include <string>
#include <vector>

#include "server/fleet/agent_table.hpp"
#include "server/fleet/usage_batch.hpp"
#include "server/postgres/transaction.hpp"

namespace sluice::server::fleet {

// Does not overwrite a later report that another server stored. `replica`: the name of this server. REQUIRES: `rows` is
// not empty, and is sorted by key.
void store_agents(postgres::Transaction& tx, const std::vector<AgentRow>& rows, const std::string& replica);

// Reads all agents that were heard from within kRememberedFor, including those that have left.
std::vector<StoredAgent> read_agents(postgres::Transaction& tx);

// Agents that use quotas, of a tenant or (with a `tenant_id` of "") of an organization; see auth::TokenQuotas.
struct AgentUse {
  std::int64_t agents = 0;
  std::int64_t per_token = 0;  // of the token that has the most; for a tenant, of its tokens for this tenant alone
};
AgentUse count_agents(postgres::Transaction& tx, const std::string& organization_id, const std::string& tenant_id);

TenantsByOrganization read_tenants(postgres::Transaction& tx, const std::vector<std::string>& organizations);

inline constexpr int kUsageStatements = 8;  // SQL statements of one store_usage()
// The mark of a boot (one run of an agent) is the number of its last stored report. Adds the usage of each report above
// the mark, and moves the mark, so each report counts once. REQUIRES: `taken` is not empty, and is sorted by boot.
UsageBatch store_usage(postgres::Transaction& tx, std::span<const BootReports> taken, WallTime now);

// Removes usage older than `retention`, agents that were not heard from for kRememberedFor, and marks of boots that
// reported no usage for 7 days.
void tidy_fleet(postgres::Transaction& tx, std::chrono::microseconds retention);

}  // namespace sluice::server::fleet
