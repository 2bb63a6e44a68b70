#include "server/auth/metrics.hpp"

namespace sluice::server::auth {

const telemetry::MetricTable<FailureThrottle>& metrics() {
  static const telemetry::MetricTable<FailureThrottle> table{
      {"sluice_auth_failures_throttled_total", telemetry::kCounter,
       "Failed authentications that the server answered 429, because too many from the caller's address, or too many "
       "in "
       "total, had failed.",
       &FailureThrottle::throttled},
  };
  return table;
}

const telemetry::MetricTable<TokenLookups::Statistics>& lookup_metrics() {
  using Counted = TokenLookups::Statistics;
  static const telemetry::MetricTable<Counted> table{
      {"sluice_auth_token_lookups_total",
       telemetry::kCounter,
       "Reads of PostgreSQL because of tokens that were not in the server's memory. One read serves all requests that "
       "wait for it; there are at most 20 a second.",
       "result",
       {{"ok", &Counted::succeeded}, {"error", &Counted::failed}}},
  };
  return table;
}

}  // namespace sluice::server::auth
