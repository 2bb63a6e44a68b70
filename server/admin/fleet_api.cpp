#include "server/admin/fleet_api.hpp"

#include <charconv>

#include <fmt/core.h>
#include <pqxx/pqxx>

#include "common/base/duration.hpp"
#include "server/admin/paging.hpp"
#include "server/fleet/agent_table.hpp"
#include "server/http/refusal.hpp"
#include "server/store/statement.hpp"

namespace sluice::server::admin {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::seconds kLongestWait{60};
constexpr std::array<std::string_view, 2> kStatuses{"live", "missing"};

std::string interval(std::chrono::seconds time) { return fmt::format("interval '{} s'", time.count()); }

// SQL conditions on a row of `agents AS a`.
std::string is_known() {
  return fmt::format("NOT a.gone AND a.heard_at > now() - {}", interval(fleet::kRememberedFor));
}
std::string is_live() { return fmt::format("a.heard_at > now() - {}", interval(fleet::kLiveFor)); }
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
  'scope', json_build_object('organization_id', nullif(a.organization_id, ''), 'tenant_ids', a.tenant_ids)))",
      is_connected(), is_live(), store::as_timestamp("a.reported_at"), store::as_timestamp("a.refused_at"));
}

void filter(const Call& call, store::Statement& statement) {
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
  if (const auto status = call.parameter("status"); !status.empty()) {
    check_choice("status", status, kStatuses);
    statement.add(fmt::format(" AND ({}) = {}", is_live(), status == "live"));
  }
}

std::int64_t revision_of_path(const Call& call) {
  const std::string& text = call.path_values.at(0);
  std::int64_t revision = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), revision);
  if (error != std::errc{} || end != text.data() + text.size() || revision < 0) http::refuse_unknown("revision", text);
  return revision;
}

std::chrono::milliseconds read_wait(const Call& call) {
  const std::string_view text = call.parameter("wait");
  if (text.empty()) return 0ms;
  const auto wait = parse_duration(text);
  if (!wait || *wait > kLongestWait) {
    http::refuse_fault(400, "?wait",
                       fmt::format("wait is a duration from 0s to {}s, such as 10s", kLongestWait.count()));
  }
  return std::chrono::duration_cast<std::chrono::milliseconds>(*wait);
}

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

// An agent that lost its watch may have restarted with an older snapshot than its last report says. So the agent counts
// as missing until it opens a new watch. The new watch names the agent's revision (`held_revision`), which counts until
// the next report.
constexpr std::array<std::string_view, 5> kClasses{"enforcing", "lagging", "missing", "refusing", "foreign"};
std::string class_of(std::int64_t revision) {
  return fmt::format(R"(CASE WHEN NOT ({}) OR (a.watch IS NOT NULL AND NOT {}) THEN 'missing'
  WHEN h.revision >= {} AND (a.held_at > a.reported_at AND a.held_revision < {}) IS NOT TRUE THEN 'enforcing' WHEN jsonb_typeof(a.state -> 'refusal') = 'object' THEN 'refusing'
  WHEN a.revision IS NOT NULL AND h.revision IS NULL THEN 'foreign' ELSE 'lagging' END)",
                     is_live(), is_connected(), revision, revision);
}

struct Enforcement {
  std::string agents;  // JSON
  bool enforced_by_all = false;
};

Enforcement enforcement_of(Context& context, std::int64_t revision) {
  context.tx.enter(postgres::Scope::everything(context.principal.token_id));
  std::string what = "SELECT count(*)";
  for (const std::string_view name : kClasses) what += fmt::format(", count(*) FILTER (WHERE class = '{}')", name);
  store::Statement statement =
      overlapping_agents(context.principal, what + " FROM (SELECT " + class_of(revision) + " AS class");
  const pqxx::result rows = statement.add(") AS classes").run(context.tx);
  context.tx.enter(context.principal.scope());
  Enforcement found;
  found.agents = fmt::format(R"({{"total":{})", rows[0][0].c_str());
  for (std::size_t i = 0; i < kClasses.size(); ++i) {
    found.agents += fmt::format(R"(,"{}":{})", kClasses[i], rows[0][static_cast<int>(i) + 1].c_str());
  }
  found.agents += '}';
  // False if there are no agents, because a caller may be waiting for the first agents to start.
  found.enforced_by_all =
      rows[0][0].as<std::int64_t>() > 0 && rows[0][0].as<std::int64_t>() == rows[0][1].as<std::int64_t>();
  return found;
}

}  // namespace

Answer list_agents(Context& context) {
  const store::Page page = read_page(context.call);
  store::Statement statement(
      fmt::format("SELECT a.scope, a.agent_id, {}{}WHERE {}", agent_document(), kFrom, is_known()));
  filter(context.call, statement);
  if (!page.after_id.empty()) {
    statement.add(" AND (a.agent_id, a.scope) > ($, ", page.after_id).add("$)", page.after_tenant_id);
  }
  const pqxx::result rows =
      statement.add(fmt::format(" ORDER BY a.agent_id, a.scope LIMIT {}", page.limit + 1)).run(context.tx);
  std::vector<std::string> items;
  std::string next;
  for (const auto& row : rows) {
    if (items.size() == page.limit) {
      const pqxx::row last = rows[row.num() - 1];
      next = cursor_after(last[0].c_str(), last[1].c_str());
      break;
    }
    items.emplace_back(row[2].c_str());
  }
  return list_answer(next, items);
}

[[noreturn]] void refuse_revision(Context& context, std::int64_t revision) {
  const auto forgotten = context.tx.exec_text("SELECT revision FROM forgotten_changes")[0][0].as<std::int64_t>();
  if (revision > 0 && revision <= forgotten) {
    throw http::Refusal(404, "not-found",
                        fmt::format("Revision {} is older than --changes-retention: the oldest that is known is {}. "
                                    "Wait for a newer one; every live agent has a newer one.",
                                    revision, forgotten + 1));
  }
  http::refuse_unknown("revision", context.call.path_values.at(0));
}

Answer get_enforcement(Context& context) {
  const std::int64_t revision = revision_of_path(context.call);
  const std::chrono::milliseconds wait = read_wait(context.call);
  const pqxx::result rows = context.tx.exec(
      fmt::format(
          "SELECT encode(n.chain, 'hex'), {}, r.revision FROM revision AS r JOIN revisions AS n ON n.revision = "
          "$1 AND n.revision <= r.revision",
          store::as_timestamp("n.made_at")),
      revision);
  if (rows.empty()) refuse_revision(context, revision);
  const Enforcement enforcement = enforcement_of(context, revision);
  Answer answer;
  answer.body = fmt::format(
      R"({{"revision":{},"chain":"{}","made_at":"{}","current":{},"enforced_by_all":{},"agents":{}}})", revision,
      rows[0][0].c_str(), rows[0][1].c_str(), rows[0][2].c_str(), enforcement.enforced_by_all, enforcement.agents);
  if (!enforcement.enforced_by_all) answer.wait = wait;
  return answer;
}

}  // namespace sluice::server::admin
