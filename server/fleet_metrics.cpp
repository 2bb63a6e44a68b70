#include "server/fleet_metrics.hpp"

namespace sluice::server {

void add_fleet_metrics(Metrics& metrics, const Fleet& fleet) {
  using prometheus::MetricType;
  const Fleet::Statistics& counted = fleet.statistics();
  const auto gauge = [&metrics](const char* name, const char* help, const auto& value) {
    metrics.add(name, help, MetricType::Gauge, [&value] { return static_cast<double>(value.load()); });
  };
  const auto counter = [&metrics](const char* name, const char* help, const auto& value) {
    metrics.add(name, help, MetricType::Counter, [&value] { return static_cast<double>(value.load()); });
  };
  gauge("sluice_fleet_agents_live", "Agents heard of within 15 s, by this replica or another.", counted.live);
  gauge("sluice_fleet_agents_missing", "Agents not heard of for 15 s, and not yet forgotten.", counted.missing);
  gauge("sluice_fleet_reports_waiting_rows", "Rows of reports that are yet to be stored.", counted.waiting_rows);
  counter("sluice_fleet_reports_received_total", "Usage reports that agents sent, those sent again too.",
          counted.received);
  counter("sluice_fleet_reports_stored_total", "Usage reports that this replica counted in PostgreSQL.",
          counted.stored);
  counter("sluice_fleet_reports_replayed_total", "Usage reports that had been taken or counted before.",
          counted.replayed);
  counter("sluice_fleet_reports_dropped_total",
          "Usage reports not taken as too much was waiting; agents send them again.", counted.dropped);
  counter("sluice_fleet_decisions_refused_total",
          "Reported decisions of tenants that the agent's token does not reach.", counted.refused);
  counter("sluice_fleet_agents_refused_total", "Reports and watches of agents over the most that are kept.",
          counted.unknown);
  counter("sluice_fleet_batches_total", "Transactions that counted usage.", counted.batches);
  counter("sluice_fleet_statements_total", "Statements by which the fleet is stored and read.", counted.statements);
  counter("sluice_fleet_failures_total", "Attempts to store the fleet that failed; they are made again.",
          counted.failures);
}

}  // namespace sluice::server
