// The fleet in PostgreSQL: each function is a fixed number of statements, however many agents there are.
//
// Thread safety: none; it belongs to its transaction, which must have entered the scope of everything. All of it throws
// what libpqxx throws.
#pragma once

#include <chrono>
#include <span>
#include <string>
#include <vector>

#include "server/fleet/agent_table.hpp"
#include "server/fleet/usage_batch.hpp"
#include "server/postgres/transaction.hpp"

namespace sluice::server::fleet {

// One statement. What another replica heard later stays. `replica`: whose watches these are. REQUIRES: not empty, in
// the order of keys.
void store_agents(postgres::Transaction& tx, const std::vector<AgentRow>& rows, const std::string& replica);

// One statement: all that were heard of within kRememberedFor, and those that said that they end.
std::vector<SeenAgent> read_agents(postgres::Transaction& tx);

// One statement.
TenantsOf read_tenants(postgres::Transaction& tx, const std::vector<std::string>& organizations);

// Counts what is above its mark, and moves the marks: whichever replicas were sent a report, and however often, it
// counts once. At most kUsageStatements statements. REQUIRES: not empty, in the order of boots.
inline constexpr int kUsageStatements = 5;
UsageBatch store_usage(postgres::Transaction& tx, std::span<const TakenReports> taken, WallTime now);

// Removes usage older than `retention`, agents that were forgotten, and marks that nobody can need any more.
void tidy_fleet(postgres::Transaction& tx, std::chrono::microseconds retention);

}  // namespace sluice::server::fleet
