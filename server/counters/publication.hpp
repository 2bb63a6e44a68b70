// Brings counter keys in Redis up to date with PostgreSQL: replaces the overrides in a counter key by the live ones
// (not expired) in PostgreSQL. publish_waiting() updates the counter keys in the outbox, and carries out resets.
// publish_live() updates every counter key of some identities that has live overrides. The publisher calls these two.
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

// Updates or resets the counter keys that have outbox rows of these identities, and removes each row whose write
// succeeded. `known`: rules that the caller has compiled; they are used if PostgreSQL still has the same documents.
Published publish_waiting(postgres::Transaction& tx, RedisLink& link, const TenantIdentities& identities,
                          std::int64_t now_us, std::span<const RulesPtr> known = {});

// Writes every counter key of these identities that has live overrides. Adds the keys that failed to the outbox, unless
// Redis is unreachable: then the caller must publish everything again anyway.
Published publish_live(postgres::Transaction& tx, RedisLink& link, const TenantIdentities& identities,
                       std::int64_t now_us);

// One entry for each tenant that has overrides; its `hashes` are empty.
std::vector<TenantIdentities> tenants_with_overrides(postgres::Transaction& tx);
// Sets tenant.hashes to the identities of this tenant that have live overrides.
void read_live_identities(postgres::Transaction& tx, TenantIdentities& tenant);

}  // namespace sluice::server::counters
