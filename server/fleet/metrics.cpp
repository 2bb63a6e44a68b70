#include "server/fleet/metrics.hpp"

namespace sluice::server::fleet {

using telemetry::kCounter;
using telemetry::kGauge;

const telemetry::MetricTable<Fleet::Statistics>& metrics() {
  using Counted = Fleet::Statistics;
  static const telemetry::MetricTable<Counted> table{
      {"sluice_fleet_agents",
       kGauge,
       "Agents that some replica of the server heard from within 15 s (live), or not for 15 s (missing). A missing "
       "agent "
       "is forgotten after a while.",
       "state",
       {{"live", &Counted::live}, {"missing", &Counted::missing}}},
      {"sluice_fleet_queued_rows", kGauge, "Rows of usage reports that the server has not stored in PostgreSQL yet.",
       &Counted::waiting_rows},
      {"sluice_fleet_reports_total",
       kCounter,
       "Usage reports of agents. `stored`: this replica stored the report in PostgreSQL. `replayed`: the report had "
       "been "
       "received before. `dropped`: too many rows waited, and the agent sends the report again.",
       "result",
       {{"stored", &Counted::stored}, {"replayed", &Counted::replayed}, {"dropped", &Counted::dropped}}},
      {"sluice_fleet_out_of_scope_decisions_total", kCounter,
       "Reported decisions that the server did not store, because their tenant is outside the scope of the agent's "
       "token.",
       &Counted::out_of_scope},
      {"sluice_fleet_unlisted_agents_total", kCounter,
       "Reports and watches of agents that the server could not add to its list of agents, because the list was full.",
       &Counted::unlisted},
      {"sluice_fleet_batches_total", kCounter, "Transactions that stored usage in PostgreSQL.", &Counted::batches},
      {"sluice_fleet_statements_total", kCounter, "SQL statements that stored or read the fleet.",
       &Counted::statements},
      {"sluice_fleet_errors_total", kCounter,
       "Attempts to store or read the fleet in PostgreSQL that failed. The server repeats them.", &Counted::failures},
  };
  return table;
}

}  // namespace sluice::server::fleet
