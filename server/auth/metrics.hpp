// Metrics of failed authentications, and of tokens that were not in memory.
#pragma once

#include "common/telemetry/metric_table.hpp"
#include "server/auth/throttle.hpp"
#include "server/auth/token_lookups.hpp"

namespace sluice::server::auth {

const telemetry::MetricTable<FailureThrottle>& metrics();
const telemetry::MetricTable<TokenLookups::Statistics>& lookup_metrics();

}  // namespace sluice::server::auth
