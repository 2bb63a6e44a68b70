// Reads and writes the fleet in PostgreSQL. The number of statements does not depend on the number of agents.
//
// Thread safety: none; every function runs in the caller's transaction and throws what libpqxx throws. REQUIRES: the
// transaction has entered Scope::everything().
#pragma once

#include <chrono>
#include <span>
#include <string>
#include <vector>

#include "server/fleet/agent_table.hpp"
#include "server/fleet/usage_batch.hpp"
#include "server/postgres/transaction.hpp"

namespace sluice::server::fleet {

// Stores agents with one statement. It does not overwrite a later report that another server stored. `replica`: the
// name of this server, stored with its watches. REQUIRES: `rows` is not empty and sorted by key.
void store_agents(postgres::Transaction& tx, const std::vector<AgentRow>& rows, const std::string& replica);

// Reads all agents that were heard from within kRememberedFor, including those that have left. One statement.
std::vector<StoredAgent> read_agents(postgres::Transaction& tx);

// Reads the tenants of these organizations. One statement.
TenantsByOrganization read_tenants(postgres::Transaction& tx, const std::vector<std::string>& organizations);

// A boot is one run of an agent. The mark of a boot is the number of its last stored report. Adds the usage of each
// report above its boot's mark, and moves the marks, so that each report counts once. Runs at most kUsageStatements
// statements. REQUIRES: `taken` is not empty and sorted by boot.
inline constexpr int kUsageStatements = 5;
UsageBatch store_usage(postgres::Transaction& tx, std::span<const BootReports> taken, WallTime now);

// Removes usage older than `retention`, agents that were not heard from for kRememberedFor, and marks of boots that
// reported no usage for 7 days.
void tidy_fleet(postgres::Transaction& tx, std::chrono::microseconds retention);

}  // namespace sluice::server::fleet
