#include "server/webhooks/stored_usage.hpp"

#include <algorithm>
#include <cstdint>

#include <fmt/core.h>
#include <pqxx/pqxx>

namespace sluice::server::webhooks {
namespace {

// $1, $2: the least time since the last turn, in ms, within a round and between two. A clock that was set back must not
// stop the turns.
constexpr const char* kTakeTurn = R"(
SELECT after_tenant, floor(extract(epoch FROM now()))::bigint FROM webhook_looks
WHERE looked_at > now() OR
      looked_at <= now() - CASE WHEN after_tenant = '' THEN $2::bigint ELSE $1::bigint END * interval '1 ms'
FOR UPDATE SKIP LOCKED)";

// $1: the tenants after this one; $2: how many rows.
constexpr const char* kWatched = R"(
SELECT tenant_id, document, floor(extract(epoch FROM created_at))::bigint FROM webhooks
WHERE tenant_id > $1 AND coalesce(document ->> 'enabled', 'true') = 'true' AND json_array_length(document -> 'events') > 0
ORDER BY tenant_id, id LIMIT $2)";

// $1: a tenant; $2: minutes to look back; $3: rows; $4: the lowest share of denied checks that makes an event, in
// percent; $5: outcomes that denied; $6: outcomes by a failure mode; $7: the beginning of outcomes that decide nothing.
// If there are more rows, the oldest minute that was read may be cut, and is left out.
constexpr const char* kCounts = R"(
WITH recent AS MATERIALIZED (
  SELECT minute, policy_id, outcome, count FROM usage
  WHERE tenant_id = $1 AND minute > now() - $2::bigint * interval '1 min' AND NOT starts_with(outcome, $7)
  ORDER BY minute DESC LIMIT $3),
cut AS (SELECT CASE WHEN count(*) < $3 THEN '-infinity' ELSE min(minute) END AS minute FROM recent),
telling AS (
  SELECT minute, policy_id FROM recent WHERE minute > (SELECT minute FROM cut)
  GROUP BY minute, policy_id
  HAVING bool_or(outcome = ANY ($6::text[]))
      OR coalesce(sum(count) FILTER (WHERE outcome = ANY ($5::text[])), 0) * 100 > sum(count) * $4::bigint)
SELECT extract(epoch FROM minute)::bigint, policy_id, outcome, sum(count)::bigint
FROM recent JOIN telling USING (minute, policy_id) GROUP BY 1, 2, 3)";

// $1: a tenant; $2: minutes to look back; $3: how many.
constexpr const char* kTakeQuotas = R"(
WITH unseen AS (
  SELECT policy_id, plan_id, limit_name, counter, percent, quota, period_from, organization_id FROM usage_quotas
  WHERE NOT seen AND tenant_id = $1 AND stored_at > now() - $2::bigint * interval '1 min'
  ORDER BY stored_at LIMIT $3 FOR UPDATE SKIP LOCKED)
UPDATE usage_quotas q SET seen = true FROM unseen u
WHERE (q.tenant_id, q.policy_id, q.plan_id, q.limit_name, q.counter, q.percent, q.quota, q.period_from, q.organization_id) =
      ($1, u.policy_id, u.plan_id, u.limit_name, u.counter, u.percent, u.quota, u.period_from, u.organization_id)
RETURNING ceil(extract(epoch FROM q.stored_at))::bigint, q.tenant_id, q.policy_id, q.plan_id, q.limit_name, q.counter,
          q.subject, q.percent, q.quota, q.used, extract(epoch FROM q.period_from)::bigint,
          extract(epoch FROM q.period_to)::bigint)";

Seconds seconds_of(const pqxx::field& field) { return Seconds(std::chrono::seconds(field.as<std::int64_t>())); }

bool has(const Webhook& webhook, EventKind kind) { return std::ranges::binary_search(webhook.events, kind); }

// How the usage of a tenant has to be read so that all its webhooks get their events.
struct Need {
  bool counts = false;
  bool quotas = false;
  std::int64_t denied_minutes = 0;
  std::int64_t denied_percent = 100;  // none is above it
};

Need need_of(const std::vector<Watched>& webhooks) {
  Need need;
  for (const auto& [webhook, since] : webhooks) {
    need.quotas = need.quotas || has(webhook, EventKind::quota_80) || has(webhook, EventKind::quota_100);
    need.counts = need.counts || has(webhook, EventKind::failure_mode) || has(webhook, EventKind::denials);
    if (!has(webhook, EventKind::denials)) continue;
    need.denied_minutes = std::max(need.denied_minutes, webhook.denied_minutes);
    need.denied_percent = std::min(need.denied_percent, webhook.denied_percent);
  }
  return need;
}

template <std::size_t Size>
std::string array_of(const std::array<std::string_view, Size>& texts) {
  return postgres::text_array({texts.begin(), texts.end()});
}

std::vector<MinuteCount> read_counts(postgres::Transaction& tx, const std::string& tenant, const Need& need,
                                     std::size_t max_rows) {
  std::vector<MinuteCount> counts;
  const pqxx::result rows =
      tx.exec(kCounts, tenant, kLookBack.count() + need.denied_minutes, max_rows, need.denied_percent,
              array_of(kDenied), array_of(kByFailureMode), std::string(kShadowPrefix));
  for (const auto& row : rows) {
    counts.push_back({.minute = seconds_of(row[0]),
                      .tenant_id = tenant,
                      .policy_id = row[1].c_str(),
                      .outcome = row[2].c_str(),
                      .count = row[3].as<std::int64_t>()});
  }
  return counts;
}

std::vector<QuotaCount> take_quotas(postgres::Transaction& tx, const std::string& tenant) {
  std::vector<QuotaCount> quotas;
  for (const auto& row : tx.exec(kTakeQuotas, tenant, kLookBack.count(), kMaxQuotas)) {
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

std::optional<Turn> take_turn(postgres::Transaction& tx, const Pace& pace) {
  const pqxx::result found = tx.exec(kTakeTurn, pace.within_round.count(), pace.between_rounds.count());
  if (found.empty()) return std::nullopt;
  Turn turn{.tenants = {}, .ends_round = true, .now = seconds_of(found[0][1])};
  const pqxx::result rows = tx.exec(kWatched, std::string(found[0][0].c_str()), kMaxWebhooksATurn);
  for (const auto& row : rows) {
    if (turn.tenants.empty() || turn.tenants.back().id != row[0].c_str()) turn.tenants.push_back({row[0].c_str(), {}});
    if (auto webhook = read_stored_webhook(row[1].c_str())) {
      turn.tenants.back().webhooks.push_back({std::move(*webhook), seconds_of(row[2])});
    }
  }
  if (static_cast<std::size_t>(rows.size()) == kMaxWebhooksATurn) {  // the last tenant may have more webhooks
    turn.tenants.pop_back();
    turn.ends_round = false;
  }
  return turn;
}

void end_turn(postgres::Transaction& tx, std::string_view after) {
  tx.exec("UPDATE webhook_looks SET after_tenant = $1, looked_at = now()", std::string(after));
}

TenantUsage read_usage(postgres::Transaction& tx, const WatchedTenant& tenant, std::size_t max_rows) {
  const Need need = need_of(tenant.webhooks);
  TenantUsage usage;
  if (need.counts) usage.counts = read_counts(tx, tenant.id, need, max_rows);
  if (need.quotas) usage.quotas = take_quotas(tx, tenant.id);
  return usage;
}

}  // namespace sluice::server::webhooks
