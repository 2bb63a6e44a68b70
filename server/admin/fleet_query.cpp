#include "server/admin/fleet_query.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/core.h>
#include <pqxx/pqxx>

#include "server/fleet/agent_table.hpp"

namespace sluice::server::admin {
namespace {

std::string interval(std::chrono::seconds time) { return fmt::format("interval '{} s'", time.count()); }

// SQL conditions on a row of `agents AS a`.
std::string is_known() {
  return fmt::format("NOT a.gone AND a.heard_at > now() - {}", interval(fleet::kRememberedFor));
}
// The server confirms an open watch in the agent's row every 5 s. If the server was killed, the confirmations end.
std::string is_connected() {
  return fmt::format("coalesce(a.watch <> '' AND a.watch_at > now() - {}, false)", interval(fleet::kLiveFor));
}

// `r` is the newest revision. `h` is the revision that the agent enforces, or NULL if the agent has another history.
// `n` is the revision after the one that the agent enforces.
constexpr std::string_view kFrom = R"(
FROM agents AS a CROSS JOIN revision AS r
LEFT JOIN revisions AS h ON h.revision = a.revision AND h.chain = a.chain
LEFT JOIN revisions AS n ON n.revision = a.revision + 1 )";

constexpr std::string_view kScope =
    "json_build_object('organization_id', nullif(a.organization_id, ''), 'tenant_ids', a.tenant_ids)";

// The query must run in the scope of the platform: in the caller's scope, row-level security would leave out agents
// with a larger scope, and a revision would count as enforced too early.
store::Statement overlapping_agents(const auth::Principal& caller, std::string_view before_from) {
  store::Statement statement{std::string(before_from)};
  statement.add(kFrom).add("WHERE ").add(is_known());
  if (caller.organization_id.empty()) return statement;
  statement.add(" AND (a.organization_id = '' OR (a.organization_id = $", caller.organization_id);
  if (!caller.tenant_ids.empty()) {
    statement.add(" AND (a.tenant_ids = '{}' OR a.tenant_ids && $::text[])", postgres::text_array(caller.tenant_ids));
  }
  statement.add("))");
  return statement;
}

// What an agent is, whatever revision is asked about. Columns: it is missing; the revision that it enforces; it refuses
// a snapshot; it has another history.
//
// An agent that lost its watch may have restarted with an older snapshot than its last report says. So the agent counts
// as missing until it opens a new watch. The new watch names the agent's revision (`held_revision`), which counts until
// the next report.
std::string group_columns() {
  return fmt::format(R"(NOT ({}) OR (a.watch IS NOT NULL AND NOT {}) AS missing,
 CASE WHEN a.held_at > a.reported_at AND a.held_revision < h.revision THEN a.held_revision ELSE h.revision END AS enforced,
 coalesce(jsonb_typeof(a.state -> 'refusal') = 'object', false) AS refusing,
 a.revision IS NOT NULL AND h.revision IS NULL AS is_foreign)",
                     is_live_agent(), is_connected());
}

}  // namespace

std::string is_live_agent() { return fmt::format("a.heard_at > now() - {}", interval(fleet::kLiveFor)); }

std::string agent_document() {
  return fmt::format(
      R"(json_build_object('id', a.agent_id, 'pod', nullif(a.state ->> 'pod', ''), 'token_id', a.token_id,
  'boot_id', a.state ->> 'boot_id',
  'version', a.state ->> 'version', 'revision', a.revision, 'chain', encode(a.chain, 'hex'),
  'lag', CASE WHEN h.revision IS NOT NULL THEN r.revision - a.revision END,
  'lag_seconds', CASE WHEN h.revision = r.revision THEN 0
                      WHEN h.revision IS NOT NULL THEN round(extract(epoch FROM now() - n.made_at), 3) END,
  'connected', {}, 'status', CASE WHEN {} THEN 'live' ELSE 'missing' END,
  'degraded', coalesce(a.state -> 'degraded', '[]'), 'last_report', {},
  'refusal', CASE WHEN jsonb_typeof(a.state -> 'refusal') = 'object'
                  THEN (a.state -> 'refusal') || jsonb_build_object('at', {}) END,
  'scope', {}))",
      is_connected(), is_live_agent(), store::as_timestamp("a.reported_at"), store::as_timestamp("a.refused_at"),
      kScope);
}

std::string agent_identity() { return fmt::format("json_build_object('id', a.agent_id, 'scope', {})", kScope); }

// The document itself changes all the time: the time of the last report, and how long an agent is behind.
std::string agent_mark() {
  return fmt::format(
      R"(md5(json_build_array(a.token_id, a.state, a.revision, encode(a.chain, 'hex'), h.revision IS NULL, a.refused_at,
  {}, {}, date_trunc('minute', a.reported_at),
  CASE WHEN h.revision < r.revision AND n.made_at < now() - {}
       THEN json_build_array(r.revision - a.revision, round(extract(epoch FROM now() - n.made_at), -1)) END)::text))",
      is_connected(), is_live_agent(), interval(kSettledAfter));
}

store::Statement known_agents(const Call& call, std::string_view columns) {
  store::Statement statement(fmt::format("SELECT {}{}WHERE {}", columns, kFrom, is_known()));
  if (const auto organization = call.parameter("organization_id"); !organization.empty()) {
    statement.add(" AND a.organization_id = $", std::string(organization));
  }
  // Selects all agents that serve the tenant, including those that also serve other tenants.
  if (const std::string tenant(call.parameter("tenant_id")); !tenant.empty()) {
    statement.add(
        " AND (a.organization_id = '' OR (a.organization_id = (SELECT organization_id FROM tenants WHERE id = $)",
        tenant);
    statement.add(" AND (a.tenant_ids = '{}' OR $ = ANY (a.tenant_ids))))", tenant);
  }
  return statement;
}

EnforcementGroups read_enforcement(Context& context) {
  context.tx.enter(postgres::Scope::everything(context.principal.token_id));
  store::Statement statement = overlapping_agents(
      context.principal,
      fmt::format("SELECT missing, enforced, refusing, is_foreign, count(*) FROM (SELECT {}", group_columns()));
  const pqxx::result rows = statement.add(") AS agents GROUP BY 1, 2, 3, 4").run(context.tx);
  context.tx.enter(context.principal.scope());
  EnforcementGroups groups;
  groups.reserve(static_cast<std::size_t>(rows.size()));
  for (const auto& row : rows) {
    EnforcementGroup group{.missing = row[0].as<bool>(),
                           .enforced = std::nullopt,
                           .refusing = row[2].as<bool>(),
                           .foreign = row[3].as<bool>(),
                           .agents = row[4].as<std::int64_t>()};
    if (!row[1].is_null()) group.enforced = row[1].as<std::int64_t>();
    groups.push_back(group);
  }
  return groups;
}

Enforcement enforcement_of(const EnforcementGroups& groups, std::int64_t revision) {
  enum Class : std::uint8_t { enforcing, lagging, missing, refusing, foreign };
  constexpr std::array<std::string_view, 5> kNames{"enforcing", "lagging", "missing", "refusing", "foreign"};
  std::array<std::int64_t, kNames.size()> counts{};
  std::int64_t total = 0;
  for (const EnforcementGroup& group : groups) {
    Class its = lagging;
    if (group.missing) {
      its = missing;
    } else if (group.enforced && *group.enforced >= revision) {
      its = enforcing;
    } else if (group.refusing) {
      its = refusing;
    } else if (group.foreign) {
      its = foreign;
    }
    counts[its] += group.agents;
    total += group.agents;
  }
  Enforcement found;
  found.agents = fmt::format(R"({{"total":{})", total);
  for (std::size_t i = 0; i < kNames.size(); ++i) found.agents += fmt::format(R"(,"{}":{})", kNames[i], counts[i]);
  found.agents += '}';
  found.by_all = total > 0 && total == counts[enforcing];
  return found;
}

}  // namespace sluice::server::admin
