#include "server/fleet/fleet_store.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <pqxx/pqxx>

namespace sluice::server::fleet {
namespace {

// Reports that an agent sends again within this time do not count twice.
constexpr const char* kMarkRetention = "7 days";

// Holds rows by column. Each column becomes one parameter of a statement, as an SQL array.
class Columns {
 public:
  explicit Columns(std::size_t columns) : columns_(columns) {}

  Columns& text(std::size_t column, std::string value) {
    columns_[column].push_back(std::move(value));
    return *this;
  }
  template <class Number>
  Columns& number(std::size_t column, Number value) {
    return text(column, fmt::format("{}", value));
  }
  std::string array(std::size_t column) const { return postgres::text_array(columns_[column]); }

 private:
  std::vector<std::vector<std::string>> columns_;
};

std::string joined(const std::vector<std::string>& tenants) { return fmt::format("{}", fmt::join(tenants, ",")); }

std::vector<std::string> split(std::string_view list) {
  std::vector<std::string> parts;
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    parts.emplace_back(list.substr(0, comma));
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return parts;
}

std::string_view watch_text(WatchState watch) {
  switch (watch) {
    case WatchState::unknown:
      return "unknown";
    case WatchState::open:
      return "open";
    case WatchState::lost:
      return "lost";
  }
  return "";
}

// $15: the name of this server. Watch and state are updated independently, because one server may have an agent's watch
// while another server receives the agent's reports.
constexpr const char* kStoreAgents = R"(
INSERT INTO agents AS a (scope, agent_id, organization_id, tenant_ids, token_id, state, revision, chain, reported_at,
                         refused_at, heard_at, watch, watch_at, held_revision, held_at, gone)
SELECT scope, agent_id, organization, string_to_array(tenants, ','), token, nullif(state, '')::jsonb,
       nullif(revision, '')::bigint, decode(nullif(chain, ''), 'hex'),
       now() - nullif(reported, '')::bigint * interval '1 microsecond',
       CASE WHEN jsonb_typeof(nullif(state, '')::jsonb -> 'refusal') = 'object'
            THEN now() - nullif(reported, '')::bigint * interval '1 microsecond' END,
       now() - heard * interval '1 microsecond',
       CASE watch WHEN 'open' THEN $15 WHEN 'lost' THEN '' END, CASE WHEN watch = 'open' THEN now() END,
       nullif(held, '')::bigint, CASE WHEN held <> '' THEN now() - held_ago * interval '1 microsecond' END, gone
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[],
            $10::bigint[], $11::text[], $12::boolean[], $13::text[], $14::bigint[])
     AS given (scope, agent_id, organization, tenants, token, state, revision, chain, reported, heard, watch, gone, held,
               held_ago)
ORDER BY scope COLLATE "C", agent_id COLLATE "C"
ON CONFLICT (scope, agent_id) DO UPDATE SET
  token_id = CASE WHEN excluded.heard_at >= a.heard_at THEN excluded.token_id ELSE a.token_id END,
  gone = CASE WHEN excluded.heard_at >= a.heard_at THEN excluded.gone ELSE a.gone END,
  heard_at = greatest(a.heard_at, excluded.heard_at),
  refused_at = CASE WHEN excluded.reported_at < a.reported_at OR excluded.reported_at IS NULL THEN a.refused_at
                    WHEN excluded.refused_at IS NULL THEN NULL
                    WHEN excluded.state -> 'refusal' = a.state -> 'refusal' THEN coalesce(a.refused_at, excluded.refused_at)
                    ELSE excluded.refused_at END,
  state = CASE WHEN excluded.reported_at >= coalesce(a.reported_at, '-infinity') THEN excluded.state ELSE a.state END,
  revision = CASE WHEN excluded.reported_at >= coalesce(a.reported_at, '-infinity') THEN excluded.revision ELSE a.revision END,
  chain = CASE WHEN excluded.reported_at >= coalesce(a.reported_at, '-infinity') THEN excluded.chain ELSE a.chain END,
  reported_at = CASE WHEN excluded.reported_at >= coalesce(a.reported_at, '-infinity') THEN excluded.reported_at ELSE a.reported_at END,
  watch = CASE WHEN excluded.watch IS NULL OR (excluded.watch = '' AND a.watch <> $15) THEN a.watch ELSE excluded.watch END,
  watch_at = coalesce(excluded.watch_at, a.watch_at),
  held_revision = CASE WHEN excluded.held_at >= coalesce(a.held_at, '-infinity') THEN excluded.held_revision
                       ELSE a.held_revision END,
  held_at = greatest(a.held_at, excluded.held_at))";

// The mark of a boot (one run of an agent) is the number of its last stored report. Locks marks in the order of their
// keys; new marks start at 0.
constexpr const char* kLockMarks = R"(
WITH locked AS (
  INSERT INTO report_marks AS m (scope, agent_id, boot_id, number, heard_at)
  SELECT scope, agent_id, boot_id, 0, now()
  FROM unnest($1::text[], $2::text[], $3::text[]) AS given (scope, agent_id, boot_id)
  ORDER BY scope COLLATE "C", agent_id COLLATE "C", boot_id COLLATE "C"
  ON CONFLICT (scope, agent_id, boot_id) DO UPDATE SET heard_at = now()
  RETURNING m.scope, m.agent_id, m.boot_id, m.number)
SELECT number FROM locked ORDER BY scope, agent_id, boot_id)";

constexpr const char* kMoveMarks = R"(
UPDATE report_marks AS m SET number = moved.number
FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[]) AS moved (scope, agent_id, boot_id, number)
WHERE (m.scope, m.agent_id, m.boot_id) = (moved.scope, moved.agent_id, moved.boot_id) AND m.number < moved.number)";

// {0}: table. {1} and {2}: its columns for UsageRow::begin and UsageRow::name. {3} and {4}: its column policy_id and
// that column's value, or nothing if it has none. The large number is kMaxCount of usage_batch.cpp.
constexpr const char* kAddUsage = R"(
INSERT INTO {0} AS u ({1}, organization_id, tenant_id, {3} {2}, count)
SELECT to_timestamp(begin), organization, tenant, {4} name, count
FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[])
     AS given (begin, tenant, policy, name, organization, count)
ORDER BY begin, tenant COLLATE "C", policy COLLATE "C", name COLLATE "C", organization COLLATE "C"
ON CONFLICT ({1}, tenant_id, {3} {2}, organization_id)
DO UPDATE SET count = least(u.count::numeric + excluded.count, 1152921504606846976)::bigint)";

enum class ByPolicy : bool { no, yes };

void add_usage(postgres::Transaction& tx, std::string_view table, std::string_view time, std::string_view name,
               ByPolicy by_policy, const std::vector<UsageRow>& rows) {
  if (rows.empty()) return;
  Columns columns(6);
  for (const UsageRow& row : rows) {
    columns.number(0, row.begin)
        .text(1, row.tenant_id)
        .text(2, row.policy_id)
        .text(3, row.name)
        .text(4, row.organization_id)
        .number(5, row.count);
  }
  const bool has_policy = by_policy == ByPolicy::yes;
  tx.exec(fmt::format(fmt::runtime(kAddUsage), table, time, name, has_policy ? "policy_id," : "",
                      has_policy ? "policy," : ""),
          columns.array(0), columns.array(1), columns.array(2), columns.array(3), columns.array(4), columns.array(5));
}

// A quota that was stored before is the same event: nothing changes.
constexpr const char* kAddQuotas = R"(
INSERT INTO usage_quotas (organization_id, tenant_id, policy_id, plan_id, limit_name, counter, subject, percent, quota,
                          used, period_from, period_to)
SELECT organization, tenant, policy, plan, name, counter, subject, percent, quota, used, to_timestamp(begins),
       to_timestamp(ends)
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::smallint[],
            $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[])
     AS given (organization, tenant, policy, plan, name, counter, subject, percent, quota, used, begins, ends)
ORDER BY tenant COLLATE "C", policy COLLATE "C", plan COLLATE "C", name COLLATE "C", counter COLLATE "C", percent,
         quota, begins, organization COLLATE "C", used
ON CONFLICT DO NOTHING)";

void add_quotas(postgres::Transaction& tx, const std::vector<QuotaRow>& rows) {
  if (rows.empty()) return;
  const auto seconds = [](WallTime time) { return std::chrono::floor<std::chrono::seconds>(time).time_since_epoch(); };
  Columns columns(12);
  for (const auto& [reached, organization] : rows) {
    columns.text(0, organization)
        .text(1, reached.tenant_id)
        .text(2, reached.policy_id)
        .text(3, reached.plan_id)
        .text(4, reached.limit)
        .text(5, reached.counter)
        .text(6, reached.subject)
        .number(7, reached.percent)
        .number(8, reached.quota)
        .number(9, reached.used)
        .number(10, seconds(reached.from).count())
        .number(11, seconds(reached.to).count());
  }
  tx.exec(kAddQuotas, columns.array(0), columns.array(1), columns.array(2), columns.array(3), columns.array(4),
          columns.array(5), columns.array(6), columns.array(7), columns.array(8), columns.array(9), columns.array(10),
          columns.array(11));
}

// Whether a key belongs to the agent's scope is decided here, because reports name no tenants of keys. A row that
// another transaction holds is skipped: then the next report of the key says it. So two servers never wait for each
// other.
constexpr const char* kStoreKeyUses = R"(
WITH given AS (
  SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[]) AS given (id, organization, tenants, used)),
free AS (
  SELECT id, organization_id, tenant_id FROM keys
  WHERE id = ANY ($1::text[]) FOR NO KEY UPDATE SKIP LOCKED),
newest AS (
  SELECT free.id, to_timestamp(max(given.used)) AS used_at FROM free JOIN given USING (id)
  WHERE organization = '' OR (free.organization_id = organization AND
                              (tenants = '' OR free.tenant_id = ANY (string_to_array(tenants, ','))))
  GROUP BY free.id)
UPDATE keys AS k SET used_at = newest.used_at FROM newest
WHERE k.id = newest.id AND (k.used_at IS NULL OR k.used_at < newest.used_at))";

void store_key_uses(postgres::Transaction& tx, const std::vector<KeyUseRow>& rows) {
  if (rows.empty()) return;
  Columns columns(4);
  for (const KeyUseRow& row : rows) {
    columns.text(0, row.key_id)
        .text(1, row.scope.organization_id)
        .text(2, joined(row.scope.tenant_ids))
        .number(3, row.used_at);
  }
  tx.exec(kStoreKeyUses, columns.array(0), columns.array(1), columns.array(2), columns.array(3));
}

constexpr const char* kAddUtilization = R"(
INSERT INTO usage_utilization AS u (minute, organization_id, tenant_id, policy_id, decisions, near_limit, used)
SELECT to_timestamp(begin), organization, tenant, policy, decisions, near_limit, used
FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[], $7::bigint[])
     AS given (begin, tenant, policy, organization, decisions, near_limit, used)
ORDER BY begin, tenant COLLATE "C", policy COLLATE "C", organization COLLATE "C"
ON CONFLICT (minute, tenant_id, policy_id, organization_id) DO UPDATE SET
  decisions = least(u.decisions::numeric + excluded.decisions, 1152921504606846976)::bigint,
  near_limit = least(u.near_limit::numeric + excluded.near_limit, 1152921504606846976)::bigint,
  used = least(u.used::numeric + excluded.used, 1152921504606846976)::bigint)";

void add_utilization(postgres::Transaction& tx, const std::vector<UtilizationRow>& rows) {
  if (rows.empty()) return;
  Columns columns(7);
  for (const auto& [begin, organization, utilization] : rows) {
    columns.number(0, begin)
        .text(1, utilization.tenant_id)
        .text(2, utilization.policy_id)
        .text(3, organization)
        .number(4, utilization.decisions)
        .number(5, utilization.near_limit)
        .number(6, utilization.used);
  }
  tx.exec(kAddUtilization, columns.array(0), columns.array(1), columns.array(2), columns.array(3), columns.array(4),
          columns.array(5), columns.array(6));
}

Columns boots_of(std::span<const BootReports> taken) {
  Columns columns(3);
  for (const BootReports& each : taken) {
    columns.text(0, each.boot.agent.scope).text(1, each.boot.agent.agent_id).text(2, each.boot.boot_id);
  }
  return columns;
}

}  // namespace

void store_agents(postgres::Transaction& tx, const std::vector<AgentRow>& rows, const std::string& replica) {
  Columns columns(14);
  for (const AgentRow& row : rows) {
    columns.text(0, row.key.scope)
        .text(1, row.key.agent_id)
        .text(2, row.scope.organization_id)
        .text(3, joined(row.scope.tenant_ids))
        .text(4, row.token_id)
        .text(5, row.state)
        .text(6, row.enforced ? std::to_string(row.enforced->revision) : "")
        .text(7, row.enforced ? row.enforced->chain : "")
        .text(8, row.reported_ago ? std::to_string(row.reported_ago->count()) : "")
        .number(9, row.heard_ago.count())
        .text(10, std::string(watch_text(row.watch)))
        .text(11, row.gone ? "true" : "false")
        .text(12, row.held_revision ? std::to_string(*row.held_revision) : "")
        .number(13, row.held_ago.count());
  }
  tx.exec(kStoreAgents, columns.array(0), columns.array(1), columns.array(2), columns.array(3), columns.array(4),
          columns.array(5), columns.array(6), columns.array(7), columns.array(8), columns.array(9), columns.array(10),
          columns.array(11), columns.array(12), columns.array(13), replica);
}

std::optional<std::chrono::microseconds> age_of(const pqxx::field& microseconds) {
  if (microseconds.is_null()) return std::nullopt;
  return std::chrono::microseconds(microseconds.as<std::int64_t>());
}

std::vector<StoredAgent> read_agents(postgres::Transaction& tx) {
  const pqxx::result rows =
      tx.exec_text(fmt::format("SELECT scope, agent_id, organization_id, array_to_string(tenant_ids, ','), "
                               "greatest(0, extract(epoch FROM now() - heard_at) * 1000000)::bigint, gone, token_id, "
                               "coalesce(state ->> 'counters_generation', ''), "
                               "greatest(0, extract(epoch FROM now() - reported_at) * 1000000)::bigint FROM agents "
                               "WHERE heard_at > now() - interval '{} s'",
                               std::chrono::duration_cast<std::chrono::seconds>(kRememberedFor).count()));
  std::vector<StoredAgent> agents;
  agents.reserve(rows.size());
  for (const auto& row : rows) {
    agents.push_back({.key = {.scope = row[0].c_str(), .agent_id = row[1].c_str()},
                      .scope = {.organization_id = row[2].c_str(), .tenant_ids = split(row[3].c_str())},
                      .token_id = row[6].c_str(),
                      .counters_generation = row[7].c_str(),
                      .reported_ago = age_of(row[8]),
                      .heard_ago = std::chrono::microseconds(row[4].as<std::int64_t>()),
                      .gone = row[5].as<bool>()});
  }
  return agents;
}

AgentUse count_agents(postgres::Transaction& tx, const std::string& organization_id, const std::string& tenant_id) {
  const std::string sql = fmt::format(
      "SELECT coalesce(sum(counted), 0)::bigint, coalesce(max(agents), 0) FROM (SELECT count(*) FILTER (WHERE $2 "
      "= '' OR cardinality(tenant_ids) = 1) AS agents, count(*) FILTER (WHERE $2 <> '' OR tenant_ids = '{{}}') AS "
      "counted FROM agents WHERE organization_id = $1 AND ($2 = '' OR "
      "$2 = ANY (tenant_ids)) AND NOT gone AND heard_at > now() - interval '{} s' GROUP BY token_id) AS tokens",
      std::chrono::duration_cast<std::chrono::seconds>(kRememberedFor).count());
  const pqxx::row row = tx.exec(sql, organization_id, tenant_id)[0];
  return {.agents = row[0].as<std::int64_t>(), .per_token = row[1].as<std::int64_t>()};
}

TenantsByOrganization read_tenants(postgres::Transaction& tx, const std::vector<std::string>& organizations) {
  TenantsByOrganization tenants;
  const pqxx::result rows = tx.exec("SELECT organization_id, id FROM tenants WHERE organization_id = ANY ($1::text[])",
                                    postgres::text_array(organizations));
  for (const auto& row : rows) tenants[row[0].c_str()].emplace_back(row[1].c_str());
  return tenants;
}

UsageBatch store_usage(postgres::Transaction& tx, std::span<const BootReports> taken, WallTime now) {
  const Columns boots = boots_of(taken);
  std::vector<std::int64_t> marks;
  for (const auto& row : tx.exec(kLockMarks, boots.array(0), boots.array(1), boots.array(2))) {
    marks.push_back(row[0].as<std::int64_t>());
  }
  OrganizationByTenant organization_by_tenant;
  for (const auto& row : tx.exec("SELECT id, organization_id FROM tenants WHERE id = ANY ($1::text[])",
                                 postgres::text_array(tenants_in(taken)))) {
    organization_by_tenant.emplace(row[0].c_str(), row[1].c_str());
  }
  UsageBatch batch = aggregate(taken, marks, organization_by_tenant, now);
  add_usage(tx, "usage", "minute", "outcome", ByPolicy::yes, batch.minutes);
  add_usage(tx, "usage_subjects", "hour", "subject", ByPolicy::yes, batch.hours);
  add_usage(tx, "usage_unmatched", "hour", "resource", ByPolicy::no, batch.unmatched);
  add_utilization(tx, batch.utilization);
  add_quotas(tx, batch.quotas);
  store_key_uses(tx, batch.keys);
  Columns numbers(1);
  for (const Mark& mark : batch.marks) numbers.number(0, mark.number);
  tx.exec(kMoveMarks, boots.array(0), boots.array(1), boots.array(2), numbers.array(0));
  return batch;
}

void tidy_fleet(postgres::Transaction& tx, std::chrono::microseconds retention) {
  const std::string age = fmt::format("{} microseconds", retention.count());
  tx.exec("DELETE FROM usage WHERE minute < now() - $1::interval", age);
  tx.exec("DELETE FROM usage_utilization WHERE minute < now() - $1::interval", age);
  tx.exec("DELETE FROM usage_subjects WHERE hour < now() - $1::interval", age);
  tx.exec("DELETE FROM usage_unmatched WHERE hour < now() - $1::interval", age);
  // Within its period a quota can be reported again, and must not make a second event. No period is longer than a year.
  tx.exec(
      "DELETE FROM usage_quotas WHERE stored_at < now() - $1::interval AND (period_to < now() OR stored_at < now() - "
      "interval '1 year')",
      age);
  tx.exec_text(fmt::format("DELETE FROM agents WHERE heard_at < now() - interval '{} s'",
                           std::chrono::duration_cast<std::chrono::seconds>(kRememberedFor).count()));
  tx.exec_text(fmt::format("DELETE FROM report_marks WHERE heard_at < now() - interval '{}'", kMarkRetention));
}

}  // namespace sluice::server::fleet
