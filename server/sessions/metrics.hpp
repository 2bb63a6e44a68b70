// Metrics of sessions that were not in memory.
#pragma once

#include "common/telemetry/metric_table.hpp"
#include "server/auth/token_lookups.hpp"

namespace sluice::server::sessions {

const telemetry::MetricTable<auth::TokenLookups::Statistics>& lookup_metrics();

}  // namespace sluice::server::sessions
