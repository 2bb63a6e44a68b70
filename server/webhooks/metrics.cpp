#include "server/webhooks/metrics.hpp"

namespace sluice::server::webhooks {

using telemetry::kCounter;
using telemetry::kGauge;

const telemetry::MetricTable<Worker::Statistics>& metrics() {
  using Counted = Worker::Statistics;
  static const telemetry::MetricTable<Counted> table{
      {"sluice_webhook_deliveries_total",
       kCounter,
       "Attempts of this server to deliver an event to a customer's webhook. `delivered`: the receiver answered 2xx. "
       "`retried`: it did not, and the server tries again later. `dead`: it did not until --notify-give-up-after. "
       "`superseded`: the delivery was asked for again meanwhile, or the attempt took longer than its lease, so "
       "another "
       "attempt counts.",
       "outcome",
       {{"delivered", &Counted::delivered},
        {"retried", &Counted::retried},
        {"dead", &Counted::dead},
        {"superseded", &Counted::superseded}}},
      {"sluice_webhook_refused_addresses_total", kCounter,
       "Attempts that this server refused, because the webhook's URL led to an address that is not allowed.",
       &Counted::refused_address},
      {"sluice_webhook_events_total",
       kCounter,
       "Events for customers' webhooks, each counted for each webhook. `made`: this server made the event of usage. "
       "`refused`: it did not, because the tenant had 2,000 deliveries. An event that stays without room is counted "
       "each "
       "time the server looks for events.",
       "change",
       {{"made", &Counted::events}, {"refused", &Counted::refused}}},
      {"sluice_webhook_queue",
       kGauge,
       "Events in PostgreSQL, of all servers. `pending`: they wait for their delivery. `dead`: their delivery was "
       "given up.",
       "state",
       {{"pending", &Counted::waiting}, {"dead", &Counted::dead_stored}}},
      {"sluice_webhook_oldest_pending_seconds", kGauge,
       "How long the oldest pending event has waited; 0: there is none.",
       [](const Counted& counted) { return counted.oldest_s.load(std::memory_order_relaxed); }},
      {"sluice_webhook_errors_total", kCounter,
       "Failed attempts to read or record deliveries in PostgreSQL. The server repeats them.", &Counted::failures},
  };
  return table;
}

}  // namespace sluice::server::webhooks
