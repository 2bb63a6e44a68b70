#include "server/fleet/metrics.hpp"

namespace sluice::server::fleet {

void add_metrics(telemetry::Registry& registry, const Fleet& fleet) {
  const Fleet::Statistics& counted = fleet.statistics();
  registry.gauge("sluice_fleet_agents_live", "Agents heard of within 15 s, by this replica or another.", counted.live);
  registry.gauge("sluice_fleet_agents_missing", "Agents not heard of for 15 s, and not yet forgotten.",
                 counted.missing);
  registry.gauge("sluice_fleet_reports_waiting_rows", "Rows of reports that are yet to be stored.",
                 counted.waiting_rows);
  registry.counter("sluice_fleet_reports_received_total", "Usage reports that agents sent, those sent again too.",
                   counted.received);
  registry.counter("sluice_fleet_reports_stored_total", "Usage reports that this replica counted in PostgreSQL.",
                   counted.stored);
  registry.counter("sluice_fleet_reports_replayed_total", "Usage reports that had been taken or counted before.",
                   counted.replayed);
  registry.counter("sluice_fleet_reports_dropped_total",
                   "Usage reports not taken as too much was waiting; agents send them again.", counted.dropped);
  registry.counter("sluice_fleet_decisions_refused_total",
                   "Reported decisions of tenants that the agent's token does not reach.", counted.refused);
  registry.counter("sluice_fleet_agents_refused_total", "Reports and watches of agents over the most that are kept.",
                   counted.unknown);
  registry.counter("sluice_fleet_batches_total", "Transactions that counted usage.", counted.batches);
  registry.counter("sluice_fleet_statements_total", "Statements by which the fleet is stored and read.",
                   counted.statements);
  registry.counter("sluice_fleet_failures_total", "Attempts to store the fleet that failed; they are made again.",
                   counted.failures);
}

}  // namespace sluice::server::fleet
