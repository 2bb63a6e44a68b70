// Metrics of the playground.
#pragma once

#include "common/telemetry/metric_table.hpp"
#include "server/playground/agent_calls.hpp"

namespace sluice::server::playground {

const telemetry::MetricTable<AgentCalls::Statistics>& metrics();

}  // namespace sluice::server::playground
