#include "server/fleet/metrics.hpp"

namespace sluice::server::fleet {

using telemetry::kCounter;
using telemetry::kGauge;

const telemetry::MetricTable<Fleet::Statistics>& metrics() {
  using Counted = Fleet::Statistics;
  static const telemetry::MetricTable<Counted> table{
      {"sluice_fleet_agents",
       kGauge,
       "Number of agents. `live`: a replica of the server heard from the agent in the last 15 s. `missing`: the last "
       "time was 15 s to 10 min ago.",
       "state",
       {{"live", &Counted::live}, {"missing", &Counted::missing}}},
      {"sluice_fleet_queued_rows", kGauge, "Rows of usage reports that the server has not stored in PostgreSQL yet.",
       &Counted::waiting_rows},
      {"sluice_fleet_reports_total",
       kCounter,
       "Usage reports of agents. `stored`: this replica stored the report in PostgreSQL. `replayed`: the report had "
       "been received before. `dropped`: there was no room in the share of the queue that its organization or its "
       "tenants may use, or the agent is beyond a quota; the agent sends the report again.",
       "result",
       {{"stored", &Counted::stored}, {"replayed", &Counted::replayed}, {"dropped", &Counted::dropped}}},
      {"sluice_fleet_out_of_scope_decisions_total", kCounter,
       "Decisions and denials that agents reported and the server did not store, because the tenant is outside the "
       "scope of the agent's token.",
       &Counted::out_of_scope},
      {"sluice_fleet_unlisted_agents_total", kCounter,
       "Reports and watches of agents that the server did not add to its list of agents, because their token, tenant "
       "or "
       "organization has as many agents as it may have. Such reports are refused; such watches are served.",
       &Counted::unlisted},
      {"sluice_fleet_batches_total", kCounter, "Transactions that stored usage in PostgreSQL.", &Counted::batches},
      {"sluice_fleet_statements_total", kCounter, "SQL statements that stored agents or usage, or read the fleet.",
       &Counted::statements},
      {"sluice_fleet_errors_total", kCounter,
       "Failed attempts to store agents or usage in PostgreSQL, or to read the fleet. The server repeats them.",
       &Counted::failures},
  };
  return table;
}

}  // namespace sluice::server::fleet
