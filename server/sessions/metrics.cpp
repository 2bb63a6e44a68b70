#include "server/sessions/metrics.hpp"

namespace sluice::server::sessions {

const telemetry::MetricTable<auth::TokenLookups::Statistics>& lookup_metrics() {
  using Counted = auth::TokenLookups::Statistics;
  static const telemetry::MetricTable<Counted> table{
      {"sluice_auth_session_lookups_total",
       telemetry::kCounter,
       "Reads of PostgreSQL because of browsers' sessions that were not in the server's memory. One read serves all "
       "requests that wait for it; there are at most 20 a second.",
       "result",
       {{"ok", &Counted::succeeded}, {"error", &Counted::failed}}},
  };
  return table;
}

}  // namespace sluice::server::sessions
