// The outbox in PostgreSQL: events that wait for their delivery, and what came of it. Each row is one event for one
// webhook. All times are PostgreSQL's, so servers with different clocks agree.
//
// A server claims a row by a lease and a number that only grows. If the server dies, the lease ends, and another server
// claims the row again: that is why a receiver may get an event twice. Only the newest claim may record its outcome.
//
// Row locks that a statement waits for are taken in the order of tenant, webhook and id, so no two statements wait for
// each other. Statements without that order skip rows that others have locked.
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
inline constexpr std::size_t kMaxStored = kMaxEvents;  // rows
inline constexpr std::size_t kMaxInFlight = 2;         // leased rows, over all servers

// Finished rows are kept so long, unless the tenant needs their room.
inline constexpr std::chrono::hours kKeptFor{7 * 24};

struct Added {
  std::uint64_t events = 0;   // without those that had been made before
  std::uint64_t refused = 0;  // new ones that the tenant has no room for
};
// Events of webhooks that are gone are left out. A tenant that would have more than kMaxStored rows loses finished ones
// that are older than kMadeAgain, delivered ones first. Younger rows stay: they are what keeps an event from being made
// twice. So an event for which there is still no room is refused. Transactions that run at once do not see each other's
// rows, so together they may exceed the bound by what they add.
Added add_events(postgres::Transaction& tx, std::span<const Event> events);

struct Claimed {
  std::string tenant_id;
  std::string webhook_id;
  std::string id;
  int claim = 0;    // its number
  int attempt = 0;  // from 1; begins again with each redeliver()
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
  unsigned status = 0;           // of HTTP; 0: there was no answer
  std::string error = {};        // "": delivered
  std::string answer = {};       // the beginning of the answer's body
  bool refused_address = false;  // the URL leads to an address that is not allowed
};
struct Sent {
  Claimed claimed;
  Outcome outcome;
  std::chrono::milliseconds delay;  // until the next attempt, if this one failed
};
enum class Recorded : std::uint8_t { delivered, retried, dead, superseded };
// Sorts `sent` into the order of locks, and returns what each of it became. A row that would be older than `give_up` at
// its next attempt becomes dead. `superseded`: there is a newer claim, and nothing changes.
std::vector<Recorded> record(postgres::Transaction& tx, std::vector<Sent>& sent, std::chrono::milliseconds give_up);

// Makes a row due, and counts its attempts and its age anew. An attempt that is under way keeps its lease, so that the
// receiver has at most one request of a row at once; its outcome no longer counts. Returns false if there is no such
// row.
bool redeliver(postgres::Transaction& tx, std::string_view tenant_id, std::string_view webhook_id, std::string_view id);

struct Backlog {
  std::int64_t pending = 0;
  std::int64_t dead = 0;
  double oldest_pending_s = 0;
};
Backlog backlog(postgres::Transaction& tx);

// Removes finished rows older than kKeptFor, and pending ones that no longer can be delivered. Returns false if more
// may be left.
bool tidy(postgres::Transaction& tx, std::chrono::milliseconds give_up);

}  // namespace sluice::server::webhooks
