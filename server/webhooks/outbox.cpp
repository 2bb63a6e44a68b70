#include "server/webhooks/outbox.hpp"

#include <algorithm>
#include <set>

#include <fmt/core.h>
#include <pqxx/pqxx>

namespace sluice::server::webhooks {
namespace {

constexpr std::size_t kMaxQuotasAtOnce = 1'000;  // turned into events in one transaction

constexpr std::string_view kIsEnabled = "coalesce(w.document ->> 'enabled', 'true') = 'true'";

std::string text_or_empty(const pqxx::field& field) { return field.is_null() ? "" : field.c_str(); }

constexpr const char* kAdd = R"(
INSERT INTO webhook_deliveries (organization_id, tenant_id, webhook_id, id, type, body)
SELECT w.organization_id, w.tenant_id, w.id, e.id, e.type, e.body
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[]) AS e (tenant, webhook, id, type, body)
JOIN webhooks w ON w.tenant_id = e.tenant AND w.id = e.webhook
ORDER BY w.tenant_id, w.id, e.id
ON CONFLICT DO NOTHING)";

// $1: a tenant. Finished rows are dropped before pending ones, and the oldest first.
constexpr const char* kDropExcess = R"(
WITH dropped AS (
  DELETE FROM webhook_deliveries d USING (
    SELECT tenant_id, webhook_id, id FROM webhook_deliveries WHERE tenant_id = $1
    ORDER BY status = 'pending' DESC, created_at DESC, id OFFSET {}) AS excess
  WHERE (d.tenant_id, d.webhook_id, d.id) = (excess.tenant_id, excess.webhook_id, excess.id)
  RETURNING d.status)
SELECT count(*) FILTER (WHERE status <> 'delivered') FROM dropped)";

// $1: how many rows; $2: the lease in seconds. A row whose lease ended is due again.
constexpr const char* kClaim = R"(
WITH ranked AS (
  SELECT d.tenant_id, d.webhook_id, d.id, d.next_at,
         row_number() OVER (PARTITION BY d.tenant_id ORDER BY d.next_at, d.id) AS place
  FROM webhook_deliveries d JOIN webhooks w ON w.tenant_id = d.tenant_id AND w.id = d.webhook_id
  WHERE d.status = 'pending' AND d.next_at <= now() AND {0}),
due AS (
  SELECT tenant_id, webhook_id, id FROM ranked
  WHERE place <= {1} - (SELECT count(*) FROM webhook_deliveries f WHERE f.tenant_id = ranked.tenant_id
                        AND f.status = 'pending' AND f.leased_until > now())
  ORDER BY place, next_at LIMIT $1),
locked AS (
  SELECT d.tenant_id, d.webhook_id, d.id FROM webhook_deliveries d JOIN due USING (tenant_id, webhook_id, id)
  WHERE d.status = 'pending' AND d.next_at <= now() FOR UPDATE OF d SKIP LOCKED)
UPDATE webhook_deliveries d SET attempts = d.attempts + 1, next_at = now() + $2 * interval '1 s',
       leased_until = now() + $2 * interval '1 s'
FROM locked l JOIN webhooks w ON w.tenant_id = l.tenant_id AND w.id = l.webhook_id
WHERE (d.tenant_id, d.webhook_id, d.id) = (l.tenant_id, l.webhook_id, l.id)
RETURNING d.tenant_id, d.webhook_id, d.id, d.attempts, d.body, w.document, w.secret_key, w.secret_salt,
          CASE WHEN w.old_until > now() THEN w.old_key END, w.old_salt, floor(extract(epoch FROM now()))::bigint)";

constexpr const char* kRecord = R"(
UPDATE webhook_deliveries SET leased_until = NULL, last_at = now(), last_status = nullif($5::integer, 0),
       last_error = nullif($6, ''), last_answer = nullif($7, ''),
       next_at = now() + $8::bigint * interval '1 ms',
       status = CASE WHEN $6 = '' THEN 'delivered'
                     WHEN now() + ($8::bigint - $9::bigint) * interval '1 ms' > tried_since THEN 'dead'
                     ELSE 'pending' END
WHERE tenant_id = $1 AND webhook_id = $2 AND id = $3 AND attempts = $4 AND status = 'pending'
RETURNING status)";

std::vector<Watched> read_watched(postgres::Transaction& tx) {
  std::vector<Watched> watched;
  const pqxx::result rows = tx.exec_text(
      fmt::format("SELECT document, floor(extract(epoch FROM created_at))::bigint FROM webhooks w WHERE {} AND "
                  "json_array_length(document -> 'events') > 0 ORDER BY tenant_id, id",
                  kIsEnabled));
  for (const auto& row : rows) {
    if (auto webhook = read_stored_webhook(row[0].c_str())) {
      watched.push_back({std::move(*webhook), Seconds(std::chrono::seconds(row[1].as<std::int64_t>()))});
    }
  }
  return watched;
}

// $1: tenants; $2: the minutes to look back; $3: how many.
constexpr const char* kTakeQuotas = R"(
WITH unseen AS (
  SELECT tenant_id, policy_id, plan_id, limit_name, counter, percent, quota, period_from, organization_id
  FROM usage_quotas WHERE NOT seen AND tenant_id = ANY ($1::text[]) AND stored_at > now() - $2::bigint * interval '1 min'
  ORDER BY stored_at LIMIT $3 FOR UPDATE SKIP LOCKED)
UPDATE usage_quotas q SET seen = true FROM unseen u
WHERE (q.tenant_id, q.policy_id, q.plan_id, q.limit_name, q.counter, q.percent, q.quota, q.period_from, q.organization_id) =
      (u.tenant_id, u.policy_id, u.plan_id, u.limit_name, u.counter, u.percent, u.quota, u.period_from, u.organization_id)
RETURNING ceil(extract(epoch FROM q.stored_at))::bigint, q.tenant_id, q.policy_id, q.plan_id, q.limit_name, q.counter,
          q.subject, q.percent, q.quota, q.used, extract(epoch FROM q.period_from)::bigint,
          extract(epoch FROM q.period_to)::bigint)";

Seconds seconds_of(const pqxx::field& field) { return Seconds(std::chrono::seconds(field.as<std::int64_t>())); }

std::vector<QuotaCount> take_quotas(postgres::Transaction& tx, const std::string& tenants) {
  std::vector<QuotaCount> quotas;
  for (const auto& row : tx.exec(kTakeQuotas, tenants, kLookBack.count(), kMaxQuotasAtOnce)) {
    quotas.push_back({.stored_at = seconds_of(row[0]),
                      .tenant_id = row[1].c_str(),
                      .policy_id = row[2].c_str(),
                      .plan_id = row[3].c_str(),
                      .limit = row[4].c_str(),
                      .counter = row[5].c_str(),
                      .subject = row[6].c_str(),
                      .percent = row[7].as<std::int64_t>(),
                      .quota = row[8].as<std::int64_t>(),
                      .used = row[9].as<std::int64_t>(),
                      .from = seconds_of(row[10]),
                      .to = seconds_of(row[11])});
  }
  return quotas;
}

}  // namespace

Added add_events(postgres::Transaction& tx, std::span<const Event> events) {
  Added added;
  if (events.empty()) return added;
  std::vector<std::string> columns[5];
  std::set<std::string> tenants;
  for (const Event& event : events) {
    std::size_t column = 0;
    for (const std::string& text : {event.tenant_id, event.webhook_id, event.id, event.type, event.body}) {
      columns[column++].push_back(text);
    }
    tenants.insert(event.tenant_id);
  }
  added.events =
      tx.exec(kAdd, postgres::text_array(columns[0]), postgres::text_array(columns[1]),
              postgres::text_array(columns[2]), postgres::text_array(columns[3]), postgres::text_array(columns[4]))
          .affected_rows();
  if (added.events == 0) return added;
  const std::string drop = fmt::format(fmt::runtime(kDropExcess), kMaxStored);
  for (const std::string& tenant : tenants) added.dropped += tx.exec(drop, tenant)[0][0].as<std::uint64_t>();
  return added;
}

std::vector<Claimed> claim(postgres::Transaction& tx, std::size_t most, std::chrono::seconds lease) {
  static const std::string kSql = fmt::format(fmt::runtime(kClaim), kIsEnabled, kMaxInFlight);
  std::vector<Claimed> claimed;
  for (const auto& row : tx.exec(kSql, most, lease.count())) {
    Claimed item{.tenant_id = row[0].c_str(),
                 .webhook_id = row[1].c_str(),
                 .id = row[2].c_str(),
                 .attempt = row[3].as<int>(),
                 .body = row[4].c_str(),
                 .document = row[5].c_str(),
                 .secret = {.key_name = row[6].c_str(), .salt = row[7].c_str()},
                 .old_secret = std::nullopt,
                 .now_s = row[10].as<std::int64_t>()};
    if (!row[8].is_null()) item.old_secret = {.key_name = row[8].c_str(), .salt = text_or_empty(row[9])};
    claimed.push_back(std::move(item));
  }
  return claimed;
}

Recorded record(postgres::Transaction& tx, const Claimed& claimed, const Outcome& outcome,
                std::chrono::milliseconds delay, std::chrono::milliseconds give_up) {
  const pqxx::result rows =
      tx.exec(kRecord, claimed.tenant_id, claimed.webhook_id, claimed.id, claimed.attempt, outcome.status,
              outcome.error, outcome.answer, outcome.error.empty() ? 0 : delay.count(), give_up.count());
  if (rows.empty()) return Recorded::superseded;
  const std::string_view status = rows[0][0].c_str();
  if (status == "delivered") return Recorded::delivered;
  return status == "dead" ? Recorded::dead : Recorded::retried;
}

Backlog backlog(postgres::Transaction& tx) {
  const pqxx::row row = tx.exec_text(
      "SELECT count(*) FILTER (WHERE status = 'pending'), count(*) FILTER (WHERE status = 'dead'), "
      "coalesce(extract(epoch FROM now() - min(tried_since) FILTER (WHERE status = 'pending')), 0)::float8 "
      "FROM webhook_deliveries WHERE status <> 'delivered'")[0];
  return {
      .pending = row[0].as<std::int64_t>(), .dead = row[1].as<std::int64_t>(), .oldest_pending_s = row[2].as<double>()};
}

Usage read_usage(postgres::Transaction& tx) {
  Usage usage;
  usage.watched = read_watched(tx);
  usage.now = Seconds(
      std::chrono::seconds(tx.exec_text("SELECT floor(extract(epoch FROM now()))::bigint")[0][0].as<std::int64_t>()));
  if (usage.watched.empty()) return usage;
  std::set<std::string> tenants;
  for (const Watched& each : usage.watched) tenants.insert(each.webhook.tenant_id);
  const std::chrono::minutes reach = kLookBack + std::chrono::minutes(webhook_field::kMinutes.max);
  const pqxx::result rows = tx.exec(
      "SELECT extract(epoch FROM minute)::bigint, tenant_id, policy_id, outcome, sum(count)::bigint FROM usage WHERE "
      "tenant_id = ANY ($1::text[]) AND minute > now() - $2::bigint * interval '1 min' GROUP BY 1, 2, 3, 4",
      postgres::text_array({tenants.begin(), tenants.end()}), reach.count());
  for (const auto& row : rows) {
    usage.counts.push_back({.minute = Seconds(std::chrono::seconds(row[0].as<std::int64_t>())),
                            .tenant_id = row[1].c_str(),
                            .policy_id = row[2].c_str(),
                            .outcome = row[3].c_str(),
                            .count = row[4].as<std::int64_t>()});
  }
  usage.quotas = take_quotas(tx, postgres::text_array({tenants.begin(), tenants.end()}));
  return usage;
}

void tidy(postgres::Transaction& tx, std::chrono::milliseconds give_up) {
  tx.exec(
      "DELETE FROM webhook_deliveries WHERE (status <> 'pending' AND coalesce(last_at, created_at) < now() - "
      "$1::bigint * interval '1 h') OR (status = 'pending' AND tried_since < now() - $1::bigint * interval '1 h' "
      "- $2::bigint * interval '1 ms')",
      kKeptFor.count(), give_up.count());
}

}  // namespace sluice::server::webhooks
