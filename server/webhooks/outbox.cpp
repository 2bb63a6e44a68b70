#include "server/webhooks/outbox.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include <fmt/core.h>
#include <pqxx/pqxx>

namespace sluice::server::webhooks {
namespace {

constexpr std::size_t kTidyAtOnce = 10'000;  // rows that are removed in one transaction

std::string text_or_empty(const pqxx::field& field) { return field.is_null() ? "" : field.c_str(); }

// Events that have no row yet. $1: a tenant; $2, $3: webhooks and ids.
constexpr const char* kCountNew = R"(
SELECT count(*) FROM unnest($2::text[], $3::text[]) AS e (webhook, id) JOIN webhooks w ON w.tenant_id = $1 AND w.id = e.webhook
WHERE NOT EXISTS (SELECT FROM webhook_deliveries d WHERE d.tenant_id = $1 AND d.webhook_id = e.webhook AND d.id = e.id))";

// $1: a tenant; $2: how many rows; $3: how old they must be, in minutes.
constexpr const char* kMakeRoom = R"(
WITH excess AS (
  SELECT webhook_id, id FROM webhook_deliveries
  WHERE tenant_id = $1 AND status <> 'pending' AND created_at < now() - $3::bigint * interval '1 min'
  ORDER BY status = 'dead', created_at, id LIMIT $2),
locked AS (
  SELECT d.webhook_id, d.id FROM webhook_deliveries d JOIN excess USING (webhook_id, id)
  WHERE d.tenant_id = $1 AND d.status <> 'pending' ORDER BY d.webhook_id, d.id FOR UPDATE OF d SKIP LOCKED)
DELETE FROM webhook_deliveries d USING locked l WHERE (d.tenant_id, d.webhook_id, d.id) = ($1, l.webhook_id, l.id))";

// $1: a tenant; $2 to $5: webhooks, ids, types and bodies; $6: how many rows at most.
constexpr const char* kAdd = R"(
INSERT INTO webhook_deliveries (organization_id, tenant_id, webhook_id, id, type, body)
SELECT w.organization_id, w.tenant_id, w.id, e.id, e.type, e.body
FROM unnest($2::text[], $3::text[], $4::text[], $5::text[]) AS e (webhook, id, type, body)
JOIN webhooks w ON w.tenant_id = $1 AND w.id = e.webhook
WHERE NOT EXISTS (SELECT FROM webhook_deliveries d WHERE d.tenant_id = $1 AND d.webhook_id = e.webhook AND d.id = e.id)
ORDER BY w.id, e.id COLLATE "C" LIMIT $6
ON CONFLICT DO NOTHING)";

// $1: how many rows; $2: the lease in seconds. A row whose lease ended is due again.
constexpr const char* kClaim = R"(
WITH ranked AS (
  SELECT d.tenant_id, d.webhook_id, d.id, d.next_at,
         row_number() OVER (PARTITION BY d.tenant_id ORDER BY d.next_at, d.id) AS place
  FROM webhook_deliveries d JOIN webhooks w ON w.tenant_id = d.tenant_id AND w.id = d.webhook_id
  WHERE d.status = 'pending' AND d.next_at <= now() AND coalesce(w.document ->> 'enabled', 'true') = 'true'),
due AS (
  SELECT tenant_id, webhook_id, id FROM ranked
  WHERE place <= {} - (SELECT count(*) FROM webhook_deliveries f WHERE f.tenant_id = ranked.tenant_id
                        AND f.status = 'pending' AND f.leased_until > now())
  ORDER BY place, next_at LIMIT $1),
locked AS (
  SELECT d.tenant_id, d.webhook_id, d.id FROM webhook_deliveries d JOIN due USING (tenant_id, webhook_id, id)
  WHERE d.status = 'pending' AND d.next_at <= now() FOR UPDATE OF d SKIP LOCKED)
UPDATE webhook_deliveries d SET attempts = d.attempts + 1, next_at = now() + $2 * interval '1 s',
       leased_until = now() + $2 * interval '1 s'
FROM locked l JOIN webhooks w ON w.tenant_id = l.tenant_id AND w.id = l.webhook_id
WHERE (d.tenant_id, d.webhook_id, d.id) = (l.tenant_id, l.webhook_id, l.id)
RETURNING d.tenant_id, d.webhook_id, d.id, d.attempts, d.attempts - d.attempts_before, d.body, w.document, w.secret_key,
          w.secret_salt, CASE WHEN w.old_until > now() THEN w.old_key END, w.old_salt,
          floor(extract(epoch FROM now()))::bigint)";

constexpr const char* kRecord = R"(
UPDATE webhook_deliveries SET leased_until = NULL, last_at = now(), last_status = nullif($5::integer, 0),
       last_error = nullif($6, ''), last_answer = nullif($7, ''),
       next_at = now() + $8::bigint * interval '1 ms',
       status = CASE WHEN $6 = '' THEN 'delivered'
                     WHEN now() + ($8::bigint - $9::bigint) * interval '1 ms' > tried_since THEN 'dead'
                     ELSE 'pending' END
WHERE tenant_id = $1 AND webhook_id = $2 AND id = $3 AND attempts = $4 AND status = 'pending'
RETURNING status)";

// A lease keeps the row from being claimed.
constexpr const char* kRedeliver = R"(
UPDATE webhook_deliveries SET status = 'pending', tried_since = now(), attempts = attempts + 1,
       attempts_before = attempts + 1, next_at = greatest(now(), leased_until),
       leased_until = CASE WHEN leased_until > now() THEN leased_until END
WHERE tenant_id = $1 AND webhook_id = $2 AND id = $3)";

// $1: how many rows; $2: how long finished ones are kept, in hours; $3: when pending ones are given up, in ms.
constexpr const char* kTidy = R"(
DELETE FROM webhook_deliveries WHERE (tenant_id, webhook_id, id) IN (
  SELECT tenant_id, webhook_id, id FROM webhook_deliveries
  WHERE (status <> 'pending' AND coalesce(last_at, created_at) < now() - $2::bigint * interval '1 h')
     OR (status = 'pending' AND tried_since < now() - $2::bigint * interval '1 h' - $3::bigint * interval '1 ms')
  LIMIT $1 FOR UPDATE SKIP LOCKED))";

struct Columns {
  std::vector<std::string> webhooks, ids, types, bodies;
};
// The events by tenant, in the order in which locks are taken.
std::map<std::string, Columns> by_tenant(std::span<const Event> events) {
  std::map<std::string, Columns> tenants;
  for (const Event& event : events) {
    Columns& columns = tenants[event.tenant_id];
    columns.webhooks.push_back(event.webhook_id);
    columns.ids.push_back(event.id);
    columns.types.push_back(event.type);
    columns.bodies.push_back(event.body);
  }
  return tenants;
}

// Removes finished rows if the tenant has no room for so many new ones. Returns for how many it has room then.
std::uint64_t make_room(postgres::Transaction& tx, const std::string& tenant, std::uint64_t wanted) {
  auto stored =
      tx.exec("SELECT count(*) FROM webhook_deliveries WHERE tenant_id = $1", tenant)[0][0].as<std::uint64_t>();
  if (stored + wanted > kMaxStored) {
    stored -= tx.exec(kMakeRoom, tenant, stored + wanted - kMaxStored, kMadeAgain.count()).affected_rows();
  }
  return kMaxStored - std::min<std::uint64_t>(stored, kMaxStored);
}

void add_events_of(postgres::Transaction& tx, const std::string& tenant, const Columns& columns, Added& added) {
  const std::string webhooks = postgres::text_array(columns.webhooks);
  const std::string ids = postgres::text_array(columns.ids);
  const auto wanted = tx.exec(kCountNew, tenant, webhooks, ids)[0][0].as<std::uint64_t>();
  if (wanted == 0) return;
  const std::uint64_t room = make_room(tx, tenant, wanted);
  added.refused += wanted - std::min(wanted, room);
  if (room == 0) return;
  added.events += tx.exec(kAdd, tenant, webhooks, ids, postgres::text_array(columns.types),
                          postgres::text_array(columns.bodies), room)
                      .affected_rows();
}

Recorded record_one(postgres::Transaction& tx, const Sent& sent, std::chrono::milliseconds give_up) {
  const auto& [claimed, outcome, delay] = sent;
  const pqxx::result rows =
      tx.exec(kRecord, claimed.tenant_id, claimed.webhook_id, claimed.id, claimed.claim, outcome.status, outcome.error,
              outcome.answer, outcome.error.empty() ? 0 : delay.count(), give_up.count());
  if (rows.empty()) return Recorded::superseded;
  const std::string_view status = rows[0][0].c_str();
  if (status == "delivered") return Recorded::delivered;
  return status == "dead" ? Recorded::dead : Recorded::retried;
}

}  // namespace

Added add_events(postgres::Transaction& tx, std::span<const Event> events) {
  Added added;
  for (const auto& [tenant, columns] : by_tenant(events)) add_events_of(tx, tenant, columns, added);
  return added;
}

std::vector<Claimed> claim(postgres::Transaction& tx, std::size_t most, std::chrono::seconds lease) {
  static const std::string kSql = fmt::format(fmt::runtime(kClaim), kMaxInFlight);
  std::vector<Claimed> claimed;
  for (const auto& row : tx.exec(kSql, most, lease.count())) {
    Claimed item{.tenant_id = row[0].c_str(),
                 .webhook_id = row[1].c_str(),
                 .id = row[2].c_str(),
                 .claim = row[3].as<int>(),
                 .attempt = row[4].as<int>(),
                 .body = row[5].c_str(),
                 .document = row[6].c_str(),
                 .secret = {.key_name = row[7].c_str(), .salt = row[8].c_str()},
                 .old_secret = std::nullopt,
                 .now_s = row[11].as<std::int64_t>()};
    if (!row[9].is_null()) item.old_secret = {.key_name = row[9].c_str(), .salt = text_or_empty(row[10])};
    claimed.push_back(std::move(item));
  }
  return claimed;
}

std::vector<Recorded> record(postgres::Transaction& tx, std::vector<Sent>& sent, std::chrono::milliseconds give_up) {
  std::ranges::sort(sent, {}, [](const Sent& each) {
    return std::tie(each.claimed.tenant_id, each.claimed.webhook_id, each.claimed.id);
  });
  std::vector<Recorded> recorded;
  for (const Sent& each : sent) recorded.push_back(record_one(tx, each, give_up));
  return recorded;
}

bool redeliver(postgres::Transaction& tx, std::string_view tenant_id, std::string_view webhook_id,
               std::string_view id) {
  return tx.exec(kRedeliver, std::string(tenant_id), std::string(webhook_id), std::string(id)).affected_rows() > 0;
}

Backlog backlog(postgres::Transaction& tx) {
  const pqxx::row row = tx.exec_text(
      "SELECT count(*) FILTER (WHERE status = 'pending'), count(*) FILTER (WHERE status = 'dead'), "
      "coalesce(extract(epoch FROM now() - min(tried_since) FILTER (WHERE status = 'pending')), 0)::float8 "
      "FROM webhook_deliveries WHERE status <> 'delivered'")[0];
  return {
      .pending = row[0].as<std::int64_t>(), .dead = row[1].as<std::int64_t>(), .oldest_pending_s = row[2].as<double>()};
}

bool tidy(postgres::Transaction& tx, std::chrono::milliseconds give_up) {
  return tx.exec(kTidy, kTidyAtOnce, kKeptFor.count(), give_up.count()).affected_rows() < kTidyAtOnce;
}

}  // namespace sluice::server::webhooks
