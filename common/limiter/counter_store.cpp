#include "common/limiter/counter_store.hpp"

#include <algorithm>

namespace sluice::limiter {

std::size_t enforced_count(std::span<const RulebookCall> calls) {
  return static_cast<std::size_t>(std::ranges::find(calls, false, &RulebookCall::enforced) - calls.begin());
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

}  // namespace sluice::limiter
