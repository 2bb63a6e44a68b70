// What Redis must still be told, as rows that are written with the change itself (the pattern "transactional outbox").
//
// Whoever publishes holds the lock of an identity from before it reads what is live until Redis has answered: so no
// older state is written over a newer one, by whichever thread or server.
//
// Every function works in the scope of its transaction, and throws what libpqxx throws.
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
  std::int64_t seq = 0;
  CounterRef counter;
};

// Identities of one tenant, by the hash that PostgreSQL makes of their text.
struct Identities {
  std::string organization_id;
  std::string tenant_id;
  std::vector<std::int64_t> hashes;
};

// Of these counters, tenant by tenant.
std::vector<Identities> identities_of(postgres::Transaction& tx, std::span<const CounterRef> counters);
// Of the oldest rows behind `seq`; moves `seq` behind them. Empty: there are no more.
std::vector<Identities> identities_waiting(postgres::Transaction& tx, std::int64_t& seq, std::size_t most);

// Until the end of the transaction nobody else publishes these.
void lock(postgres::Transaction& tx, const Identities& identities);
// The same for those that nobody else is publishing: the others are taken out.
void lock_free(postgres::Transaction& tx, Identities& identities);

std::vector<OutboxRow> waiting(postgres::Transaction& tx, const Identities& identities);
void remove(postgres::Transaction& tx, const std::vector<std::int64_t>& seqs);

std::int64_t count_waiting(postgres::Transaction& tx);

// Of these overrides, tenant and id of those that Redis was not told of yet.
std::set<std::pair<std::string, std::string>> unpublished(postgres::Transaction& tx,
                                                          std::span<const store::StoredObject> overrides);

}  // namespace sluice::server::counters
