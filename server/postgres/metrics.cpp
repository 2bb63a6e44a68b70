#include "server/postgres/metrics.hpp"

namespace sluice::server::postgres {

void add_metrics(telemetry::Registry& registry, const Pool& pool) {
  registry.gauge("sluice_postgres_connections", "Connections to PostgreSQL, by state.", "state",
                 {{"busy", [&pool] { return pool.busy(); }},
                  {"open", [&pool] { return pool.connected(); }},
                  {"most", [&pool] { return pool.size(); }}});
  registry.gauge("sluice_postgres_waiting", "Calls that wait for a connection.", [&pool] { return pool.waiting(); });
  std::vector<telemetry::Registry::Labelled> failures;
  for (std::size_t i = 0; i < kFailureClasses; ++i) {
    const auto failure = static_cast<FailureClass>(i);
    failures.push_back({std::string(to_string(failure)), [&pool, failure] { return pool.failures(failure); }});
  }
  registry.counter("sluice_postgres_errors_total", "What went wrong with PostgreSQL, by class.", "class",
                   std::move(failures));
}

}  // namespace sluice::server::postgres
