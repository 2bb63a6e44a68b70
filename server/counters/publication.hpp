// Replaces the overrides in counter keys in Redis by the live ones (not expired) in PostgreSQL, and resets counters.
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

// Writes the counter keys in the outbox rows of these identities, and removes each row whose write succeeded. `known`:
// compiled rules that are used if PostgreSQL still has the same documents.
Published publish_waiting(postgres::Transaction& tx, RedisLink& link, const TenantIdentities& identities,
                          std::int64_t now_us, std::span<const RulesPtr> known = {});

// Writes every counter key of these identities that has live overrides. If some writes fail, adds their keys to the
// outbox. If Redis is unreachable, adds no key; the caller must then publish everything again.
Published publish_live(postgres::Transaction& tx, RedisLink& link, const TenantIdentities& identities,
                       std::int64_t now_us);

// The `hashes` of the result are empty.
std::vector<TenantIdentities> tenants_with_overrides(postgres::Transaction& tx);
// Sets tenant.hashes to the identities with live overrides.
void read_live_identities(postgres::Transaction& tx, TenantIdentities& tenant);

}  // namespace sluice::server::counters
