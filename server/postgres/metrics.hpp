// The metrics of a Pool.
#pragma once

#include "common/telemetry/metric_table.hpp"
#include "server/postgres/pool.hpp"

namespace sluice::server::postgres {

const telemetry::MetricTable<Pool>& metrics();

}  // namespace sluice::server::postgres
