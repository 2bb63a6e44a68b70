// Verifies hash chains step by step, for a caller who waits: each step checks some rows and says how to go on. A step
// keeps one row in memory, and has one connection for half a second at most.
//
// A step stops at the first bad row. It compares the rows with the heads (last rows) in the table audit_heads. It does
// not compare the trail with other tables; the command `audit verify` does (verify.hpp).
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "server/audit/chain_check.hpp"
#include "server/postgres/transaction.hpp"

namespace sluice::server::audit {

// How far the steps have come. The caller keeps it between two steps; one who forges it misleads nobody else.
struct StepProgress {
  std::string organization_id;  // of the chain in progress; "": the platform
  // The last row that was checked of this chain. Of another row with this number the next step says that it was
  // changed.
  ChainHead at{};
  std::int64_t rows = 0;      // checked so far, in all chains
  std::int64_t chains = 0;    // that were checked to their ends
  std::int64_t first_us = 0;  // the earliest and the latest row that was checked, Unix time in µs; 0: no row yet
  std::int64_t last_us = 0;

  bool operator==(const StepProgress&) const = default;
};

struct BrokenRow {
  std::string organization_id;
  ChainFault fault;
  // As the row says; empty if the row is missing.
  std::string tenant_id;
  std::string kind;
  std::string object_id;
  std::int64_t made_at_us = 0;
};

struct StepOptions {
  std::optional<std::string> only;  // this organization's chain; nullopt: all chains in the scope of the transaction
  std::int64_t max_rows = 20'000;
  std::chrono::milliseconds max_time{500};
};

struct StepResult {
  StepProgress progress;
  bool complete = false;            // all chains were checked to their ends, or a row is bad
  std::optional<BrokenRow> broken;  // the first bad row
  std::int64_t total = 0;           // rows that the trail should have, by audit_heads
};

// `from`: nullopt begins. Throws what libpqxx throws. REQUIRES: `tx` has entered its scope, uses one snapshot, and its
// scope has whole organizations.
StepResult verify_step(postgres::Transaction& tx, const std::optional<StepProgress>& from, const StepOptions& options);

}  // namespace sluice::server::audit
