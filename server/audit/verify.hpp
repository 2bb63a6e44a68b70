// Verifies the audit trail: every organization's hash chain, the heads (last rows) in the table audit_heads, and heads
// saved outside the database. If all chains are intact, also checks that versions, changes and objects agree with the
// trail.
//
// All reads see the same state of the database, so a trail that grows meanwhile does not look broken. Throws what
// libpqxx throws.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <pqxx/connection>

#include "server/audit/chain_check.hpp"
#include "server/audit/saved_heads.hpp"

namespace sluice::server::audit {

struct VerifyOptions {
  SavedHeads saved;
  std::function<void(std::int64_t rows)> progress = {};  // called every 10,000 rows
};

struct VerifyReport {
  std::vector<ChainReport> chains;         // sorted by organization; "" is the platform
  std::vector<std::string> disagreements;  // between tables (agreement.hpp); empty if a chain is broken
  std::int64_t rows = 0;

  // nullptr if all chains are intact.
  const ChainReport* first_broken() const;
  bool good() const { return first_broken() == nullptr && disagreements.empty(); }
};

VerifyReport verify(pqxx::connection& connection, const VerifyOptions& options = {});

}  // namespace sluice::server::audit
