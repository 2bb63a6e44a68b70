// Metrics of token reviews.
#pragma once

#include "common/telemetry/metric_table.hpp"
#include "server/identity/reviewer.hpp"

namespace sluice::server::identity {

const telemetry::MetricTable<Reviewer::Statistics>& metrics();

}  // namespace sluice::server::identity
