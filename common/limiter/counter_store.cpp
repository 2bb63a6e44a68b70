#include "common/limiter/counter_store.hpp"

#include <algorithm>

namespace sluice::limiter {

std::size_t enforced_count(std::span<const RulebookCall> calls) {
  return static_cast<std::size_t>(std::ranges::find(calls, false, &RulebookCall::enforced) - calls.begin());
}

void CounterStore::judge_each(std::span<const RulebookCall> calls) {
  for (const RulebookCall& each : calls) judge(*each.call, *each.listener);
}

std::string_view to_string(StoreFault fault) {
  switch (fault) {
    case StoreFault::timeout:
      return "timeout";
    case StoreFault::disconnected:
      return "disconnected";
    case StoreFault::unavailable:
      return "unavailable";
    case StoreFault::breaker_open:
      return "breaker_open";
    case StoreFault::overload:
      return "overload";
    case StoreFault::queue_timeout:
      return "queue_timeout";
    case StoreFault::read_only:
      return "read_only";
    case StoreFault::loading:
      return "loading";
    case StoreFault::busy:
      return "busy";
    case StoreFault::out_of_memory:
      return "out_of_memory";
    case StoreFault::no_replicas:
      return "no_replicas";
    case StoreFault::misconfigured:
      return "misconfigured";
    case StoreFault::cluster_down:
      return "cluster_down";
    case StoreFault::authentication:
      return "authentication";
    case StoreFault::wrong_type:
      return "wrong_type";
    case StoreFault::script:
      return "script";
    case StoreFault::protocol:
      return "protocol";
    case StoreFault::no_script:
      return "no_script";
    case StoreFault::no_function:
      return "no_function";
    case StoreFault::clock:
      return "clock";
  }
  return "script";
}

std::string_view describe(StoreFault fault) {
  switch (fault) {
    case StoreFault::timeout:
      return "Redis did not answer within the agent's --redis-deadline.";
    case StoreFault::disconnected:
      return "The connection to Redis was lost before it answered.";
    case StoreFault::unavailable:
      return "The agent has no connection to Redis.";
    case StoreFault::breaker_open:
      return "Redis has failed so often that the agent stopped asking it for a while.";
    case StoreFault::overload:
      return "The tenant asks for more than its share of the calls to Redis.";
    case StoreFault::queue_timeout:
      return "The call waited longer for its turn at Redis than the agent's --queue-wait.";
    case StoreFault::read_only:
      return "The agent reached a replica of Redis, which cannot be written.";
    case StoreFault::loading:
      return "Redis is loading its data.";
    case StoreFault::busy:
      return "Redis is busy with a script that does not end.";
    case StoreFault::out_of_memory:
      return "Redis has no memory left (maxmemory).";
    case StoreFault::no_replicas:
      return "Redis has fewer replicas than it needs for writes.";
    case StoreFault::misconfigured:
      return "Redis refuses writes, because it cannot save its data.";
    case StoreFault::cluster_down:
      return "The Redis Cluster has no node for this counter now.";
    case StoreFault::authentication:
      return "Redis refused the agent's login, or the login may not run the script.";
    case StoreFault::wrong_type:
      return "Redis holds another kind of value where the counter should be.";
    case StoreFault::script:
      return "The script failed in Redis.";
    case StoreFault::protocol:
      return "The answer from Redis could not be read.";
    case StoreFault::no_script:
      return "Redis did not have the script, also in the second attempt.";
    case StoreFault::no_function:
      return "Redis does not have the functions that the agent calls.";
    case StoreFault::clock:
      return "The clock of Redis was outside the period of the quota.";
  }
  return "The script failed in Redis.";
}

}  // namespace sluice::limiter
