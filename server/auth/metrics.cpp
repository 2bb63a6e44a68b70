#include "server/auth/metrics.hpp"

namespace sluice::server::auth {

const telemetry::MetricTable<FailureThrottle>& metrics() {
  static const telemetry::MetricTable<FailureThrottle> table{
      {"sluice_auth_failures_throttled_total", telemetry::kCounter,
       "Failed authentications that the server answered 429, because too many from the caller's address had failed.",
       &FailureThrottle::throttled},
  };
  return table;
}

}  // namespace sluice::server::auth
