// Checks that the audit trail agrees with the tables of objects and with two other tables: `versions` (every version of
// each object) and `changes` (what each revision changed).
//
// The functions throw what libpqxx throws. REQUIRES: the transaction sees every organization, and all its reads see the
// same state of the database.
#pragma once

#include <string>
#include <vector>

#include <pqxx/transaction_base>

#include "common/objects/kind.hpp"

namespace sluice::server::audit {

// Fast: compares sums of hashes. It misses a difference with a probability of 2^-63. The seed of the hashes is random,
// so nobody can construct a difference that it misses.
bool tables_agree(pqxx::transaction_base& work);

// Slow: joins the tables. Returns one line for each row that differs, but at most 10 for each kind of difference.
std::vector<std::string> agreement_faults(pqxx::transaction_base& work);
// The part of agreement_faults() that compares the objects of one kind with their newest versions.
std::vector<std::string> object_faults(pqxx::transaction_base& work, Kind kind);

}  // namespace sluice::server::audit
