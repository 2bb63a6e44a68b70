#include "server/postgres/metrics.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace sluice::server::postgres {

using telemetry::kCounter;
using telemetry::kGauge;

namespace {

std::vector<telemetry::LabelledReading<Pool>> errors() {
  std::vector<telemetry::LabelledReading<Pool>> classes;
  for (std::size_t i = 0; i < kFailureClasses; ++i) {
    const auto failure = static_cast<FailureClass>(i);
    classes.push_back(
        {std::string(to_string(failure)), [failure](const Pool& pool) { return pool.failures(failure); }});
  }
  return classes;
}

// A job that starts between the two reads must not make the difference negative.
std::size_t idle(const Pool& pool) {
  const std::size_t connected = pool.connected();
  return connected - std::min(connected, pool.busy());
}

}  // namespace

const telemetry::MetricTable<Pool>& metrics() {
  static const telemetry::MetricTable<Pool> table{
      {"sluice_postgres_connections",
       kGauge,
       "Open connections to PostgreSQL.",
       "state",
       {{"busy", &Pool::busy}, {"idle", &idle}}},
      {"sluice_postgres_max_connections", kGauge, "The limit of open connections to PostgreSQL.", &Pool::size},
      {"sluice_postgres_waiting_requests", kGauge, "Requests that wait for a connection to PostgreSQL.",
       &Pool::waiting},
      {"sluice_postgres_errors_total", kCounter, "Errors of PostgreSQL and of connections to it.", "class", errors()},
  };
  return table;
}

}  // namespace sluice::server::postgres
