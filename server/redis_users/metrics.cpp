#include "server/redis_users/metrics.hpp"

namespace sluice::server::redis_users {

using telemetry::kCounter;
using telemetry::kGauge;

const telemetry::MetricTable<Keeper::Statistics>& metrics() {
  using Counted = Keeper::Statistics;
  static const telemetry::MetricTable<Counted> table{
      {"sluice_redis_users", kGauge, "Redis users that agents need: one for each agent token and binding.",
       &Counted::users},
      {"sluice_redis_users_behind", kGauge,
       "Primaries of the counters' Redis that lack users or functions. Their agents answer by failure mode.",
       &Counted::behind},
      {"sluice_redis_users_written_total",
       kCounter,
       "Redis users that the server has written, and commands for that which failed. The server repeats them.",
       "result",
       {{"ok", &Counted::written}, {"error", &Counted::failed}}},
      {"sluice_redis_users_removed_total", kCounter, "Redis users that the server has deleted.", &Counted::removed},
      {"sluice_redis_users_primaries_total", kCounter,
       "Starts of a primary of Redis that the server has given all users and functions.", &Counted::new_primaries},
  };
  return table;
}

}  // namespace sluice::server::redis_users
