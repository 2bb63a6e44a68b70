// Metrics of the Redis users for agents.
#pragma once

#include "common/telemetry/metric_table.hpp"
#include "server/redis_users/keeper.hpp"

namespace sluice::server::redis_users {

const telemetry::MetricTable<Keeper::Statistics>& metrics();

}  // namespace sluice::server::redis_users
