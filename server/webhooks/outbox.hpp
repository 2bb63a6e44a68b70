// The outbox in PostgreSQL: events that wait for their delivery, and what came of it. Each row is one event for one
// webhook. All times are PostgreSQL's, so servers with different clocks agree.
//
// A server claims a row by a lease and an attempt's number. If the server dies, the lease ends, and another server
// claims the row again: that is why a receiver may get an event twice. Only the newest attempt may record its outcome.
//
// Every function works in the scope of `tx` and throws what libpqxx throws.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "server/postgres/transaction.hpp"
#include "server/webhooks/event.hpp"
#include "server/webhooks/signing.hpp"

namespace sluice::server::webhooks {

// Bounds of one tenant, so that it costs the others nothing.
inline constexpr std::size_t kMaxStored = 2'000;  // rows; the oldest are dropped, finished ones first
inline constexpr std::size_t kMaxInFlight = 2;    // leased rows, over all servers

// Finished rows are kept so long.
inline constexpr std::chrono::hours kKeptFor{7 * 24};

struct Added {
  std::uint64_t events = 0;   // without those that had been made before
  std::uint64_t dropped = 0;  // rows that were not delivered, dropped because the tenant had too many
};
// Events of webhooks that are gone are left out.
Added add_events(postgres::Transaction& tx, std::span<const Event> events);

struct Claimed {
  std::string tenant_id;
  std::string webhook_id;
  std::string id;
  int attempt = 0;  // from 1
  std::string body;
  std::string document;  // of the webhook
  SecretRef secret;
  std::optional<SecretRef> old_secret;  // while it is valid
  std::int64_t now_s = 0;               // PostgreSQL's time
};
// Takes up to `most` due rows of enabled webhooks, at most kMaxInFlight of a tenant, and each tenant's first ones
// before the second ones of others.
std::vector<Claimed> claim(postgres::Transaction& tx, std::size_t most, std::chrono::seconds lease);

struct Outcome {
  unsigned status = 0;  // of HTTP; 0: there was no answer
  std::string error;    // "": delivered
  std::string answer;   // the beginning of the answer's body
};
enum class Recorded : std::uint8_t { delivered, retried, dead, superseded };
// `delay`: until the next attempt, if this one failed. A row that would be older than `give_up` by then becomes dead.
Recorded record(postgres::Transaction& tx, const Claimed& claimed, const Outcome& outcome,
                std::chrono::milliseconds delay, std::chrono::milliseconds give_up);

struct Backlog {
  std::int64_t pending = 0;
  std::int64_t dead = 0;
  double oldest_pending_s = 0;
};
Backlog backlog(postgres::Transaction& tx);

// What detect() and detect_quotas() need. Only enabled webhooks that ask for an event.
struct Usage {
  std::vector<Watched> watched;
  std::vector<MinuteCount> counts;
  std::vector<QuotaCount> quotas;
  Seconds now;
};
// Returns each stored quota once: `tx` must also add its events. Other servers skip it meanwhile.
Usage read_usage(postgres::Transaction& tx);

// Removes finished rows older than kKeptFor, and pending ones that no longer can be delivered.
void tidy(postgres::Transaction& tx, std::chrono::milliseconds give_up);

}  // namespace sluice::server::webhooks
