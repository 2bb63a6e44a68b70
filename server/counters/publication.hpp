// Brings counter keys in Redis up to date with PostgreSQL: writes their live overrides (not expired) and removes ended
// ones. publish_waiting() does so for the counter keys in the outbox, and carries out resets. publish_live() does so
// for every counter key of some identities that has live overrides. The publisher uses both.
//
// REQUIRES: the identities are locked (outbox.hpp). The functions throw RulesFault and what libpqxx throws.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "server/counters/outbox.hpp"
#include "server/counters/redis_link.hpp"

namespace sluice::server::counters {

struct Published {
  std::size_t written = 0;            // counter keys
  std::size_t failed = 0;             // counter keys
  bool unreachable = false;           // Redis as a whole fails, so further writes would fail too
  std::vector<CounterRef> uncertain;  // failed writes that Redis may still execute later

  void add(Published more);
};

// Writes the outbox rows of these identities. Removes the rows that were written. `known`: rules that the caller has
// compiled, used where PostgreSQL still has the same documents.
Published publish_waiting(postgres::Transaction& tx, RedisLink& link, const TenantIdentities& identities,
                          std::int64_t now_us, std::span<const RulesPtr> known = {});

// Writes every counter key of these identities that has live overrides. Adds the keys that failed to the outbox, unless
// Redis is unreachable: then the caller must publish everything again anyway.
Published publish_live(postgres::Transaction& tx, RedisLink& link, const TenantIdentities& identities,
                       std::int64_t now_us);

// One entry for each tenant with overrides, with empty `hashes`.
std::vector<TenantIdentities> tenants_with_overrides(postgres::Transaction& tx);
// Sets tenant.hashes to the identities of this tenant that have live overrides.
void read_live_identities(postgres::Transaction& tx, TenantIdentities& tenant);

}  // namespace sluice::server::counters
