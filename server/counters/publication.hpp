// Writes into Redis what PostgreSQL says is live now: of what the outbox names, or of everything.
//
// REQUIRES of both: the identities are locked (outbox.hpp). They throw what libpqxx and Rules throw.
#pragma once

#include <cstdint>
#include <vector>

#include "server/counters/outbox.hpp"
#include "server/counters/redis_link.hpp"

namespace sluice::server::counters {

struct Published {
  std::size_t written = 0;  // counter keys
  std::size_t failed = 0;
  bool unreachable = false;           // Redis, not one key, is at fault: more of it is no use now
  std::vector<CounterRef> uncertain;  // of the failed ones, those that may be written still, whenever Redis goes on

  void add(Published more);
};

// What waits for these identities; what was written is removed from the outbox.
Published publish_waiting(postgres::Transaction& tx, RedisLink& link, const Identities& identities,
                          std::int64_t now_us);

// Every key that has live overrides of these identities; what failed is put into the outbox.
Published publish_live(postgres::Transaction& tx, RedisLink& link, const Identities& identities, std::int64_t now_us);

// Identities that have live overrides, tenant by tenant.
std::vector<Identities> tenants_with_overrides(postgres::Transaction& tx);
void read_live_identities(postgres::Transaction& tx, Identities& tenant);

}  // namespace sluice::server::counters
