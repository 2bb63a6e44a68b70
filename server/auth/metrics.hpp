// Metrics of failed authentications.
#pragma once

#include "common/telemetry/metric_table.hpp"
#include "server/auth/throttle.hpp"

namespace sluice::server::auth {

const telemetry::MetricTable<FailureThrottle>& metrics();

}  // namespace sluice::server::auth
