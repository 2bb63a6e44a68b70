// Verifies the audit trail: the hash chain of every organization against its rows, the heads kept beside it, and heads
// that were saved elsewhere; and that the trail says the same as versions, changes and objects do.
//
// Everything is read in one snapshot, so that a trail that grows meanwhile does not look broken.
//
// Thread safety: none; it belongs to the thread of its connection. Everything throws what libpqxx throws.
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
  SavedHeads saved;                                      // each chain must pass through its saved head
  std::function<void(std::int64_t rows)> progress = {};  // called now and then
};

struct VerifyReport {
  std::vector<ChainReport> chains;         // by organization; "" is what is above them all
  std::vector<std::string> disagreements;  // agreement_faults(), where every chain holds
  std::int64_t rows = 0;

  // Where the first bad row is, in the order of the chains; nullptr where there is none.
  const ChainReport* first_broken() const;
  bool good() const { return first_broken() == nullptr && disagreements.empty(); }
};

VerifyReport verify(pqxx::connection& connection, const VerifyOptions& options = {});

}  // namespace sluice::server::audit
