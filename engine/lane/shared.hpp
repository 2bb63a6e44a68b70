// What the lanes of one engine share. Outlives the lanes.
//
// Thread safety: whoever makes it fills it in before the first lane exists. From then on lanes only read it, and call
// parts that are thread-safe.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "common/base/clock.hpp"
#include "common/limiter/memory_store.hpp"
#include "common/redis/client.hpp"
#include "common/telemetry/decision_log.hpp"
#include "common/telemetry/log.hpp"
#include "common/telemetry/metrics.hpp"
#include "common/telemetry/outage_log.hpp"
#include "common/tracing/tracer.hpp"
#include "engine/decide/in_flight.hpp"
#include "engine/decide/local_limits.hpp"
#include "engine/decide/waiting_places.hpp"
#include "engine/usage/usage.hpp"
#include "engine/whatif/recording.hpp"

namespace sluice::engine {

struct LaneOptions {
  std::size_t lanes = 1;
  std::size_t max_in_flight = 10'000;              // checks, of all lanes together
  std::size_t max_waiting = 1'000;                 // held checks, of all lanes together
  std::chrono::milliseconds max_wait{30'000};      // how long a check is held at most
  std::chrono::milliseconds matching_budget{200};  // of a lane's time, per tenant and second
  std::chrono::milliseconds redis_budget{500};     // of a Redis' time, per tenant and second, while Redis is busy
  bool allow_without_snapshot = false;
  bool policy_label = false;  // add a policy label to decision metrics
};

struct Shared {
  const Clock& clock;
  telemetry::Metrics& metrics;  // with a slot for each lane
  telemetry::Log& log;
  telemetry::DecisionLog& decision_log;
  limiter::MemoryCounters& memory;
  std::optional<redis::Options> redis;  // nullopt: counters in memory
  LaneOptions options;
  decide::LocalLimits::LiveAgents live_agents;
  usage::Usage* usage = nullptr;                      // nullptr: no server asks for it
  whatif::Recording* recording = nullptr;             // nullptr: checks are not recorded
  tracing::Tracer* tracer = nullptr;                  // nullptr: nothing is traced
  std::function<void()> redis_login_rejected = {};    // called on a lane's loop; may be absent
  std::function<std::string()> why_no_policies = {};  // called on a lane's loop; may be absent
  // Each lane is a party of it.
  telemetry::OutageLog redis_outage{log,
                                    {"redis_still_away", "Redis still cannot be used; failure modes decide meanwhile.",
                                     "redis_back", "Redis decides again."}};
  decide::InFlight in_flight{options.max_in_flight};
  decide::WaitingPlaces waiting{options.max_waiting};
};

}  // namespace sluice::engine
