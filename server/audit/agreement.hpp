// Objects, versions, changes and the audit trail tell one story: each audit row has one version and one change, each
// change begins where the version before it ended, each object is its newest version, and no revision is left out.
//
// Thread safety: none; both belong to the thread of the transaction, and throw what libpqxx throws.
// REQUIRES: the transaction sees every organization, in one snapshot.
#pragma once

#include <string>
#include <vector>

#include <pqxx/transaction_base>

#include "common/objects/kind.hpp"

namespace sluice::server::audit {

// Quick: compares sums of hashes with a random seed, so that each table is read once and nothing is joined. A
// difference goes unseen once in 2^63 times, and nobody can aim at that without knowing the seed.
bool tables_agree(pqxx::transaction_base& work);

// Which rows differ, a few lines of each kind of fault; nothing where all agree. Joins everything with everything.
std::vector<std::string> agreement_faults(pqxx::transaction_base& work);
// A part of it: the objects of one kind against their newest versions.
std::vector<std::string> object_faults(pqxx::transaction_base& work, Kind kind);

}  // namespace sluice::server::audit
