// The PostgreSQL table of counter keys that must still be written to Redis. An admin write commits its rows of this
// table together with the change itself (the pattern "transactional outbox").
//
// A publisher locks an identity before it reads the identity's live overrides (not expired), and holds the lock until
// Redis has answered. So no older state overwrites a newer one.
//
// The functions see only the rows in the transaction's scope, and throw what libpqxx throws.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "server/counters/rules.hpp"
#include "server/postgres/transaction.hpp"
#include "server/store/objects.hpp"

namespace sluice::server::counters {

void enqueue(postgres::Transaction& tx, std::span<const CounterRef> counters);

struct OutboxRow {
  std::int64_t seq = 0;  // ascends in the order of enqueue()
  CounterRef counter;
};

// Identities of one tenant, as hashes by PostgreSQL's function hashtextextended.
struct TenantIdentities {
  std::string organization_id;
  std::string tenant_id;
  std::vector<std::int64_t> hashes;
};

std::vector<TenantIdentities> identities_of(postgres::Transaction& tx, std::span<const CounterRef> counters);
// Returns the identities of the oldest `limit` rows after `seq`, and sets `seq` to the seq of the last row read.
std::vector<TenantIdentities> waiting_identities(postgres::Transaction& tx, std::int64_t& seq, std::size_t limit);

// Locks the identities until the end of the transaction. Waits while another publisher holds a lock.
void lock(postgres::Transaction& tx, const TenantIdentities& identities);
// Locks the identities that are free, and removes the others from `identities`. Does not wait.
void try_lock(postgres::Transaction& tx, TenantIdentities& identities);

// Oldest first.
std::vector<OutboxRow> waiting_rows(postgres::Transaction& tx, const TenantIdentities& identities);
void remove(postgres::Transaction& tx, const std::vector<std::int64_t>& seqs);

std::int64_t count_waiting(postgres::Transaction& tx);

// Returns those of `overrides` that still wait for publication, as pairs of tenant id and override id.
std::set<std::pair<std::string, std::string>> unpublished(postgres::Transaction& tx,
                                                          std::span<const store::StoredObject> overrides);

}  // namespace sluice::server::counters
