// Detects that Redis lost overrides, for the publisher. The marker is a key whose value is the run id of the Redis that
// it was written to. A Redis gets a new run id with every start. In a Cluster each primary has a marker, whose value
// also has a hash of the primary's slots.
//
// The marker is missing after FLUSHALL or an empty start, and on a primary that has just got its first slots. A restart
// or a failover may lose the last writes. After it, the marker's value differs from the run id of the running Redis. It
// also differs after a primary got slots from a node that died.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/base/error.hpp"
#include "server/counters/redis_link.hpp"

namespace sluice::server::counters {

class Marker {
 public:
  explicit Marker(RedisLink& link) : link_(link) {}

  // A Redis whose marker is missing or has another value.
  struct Lost {
    std::string key;    // the marker's key
    std::string value;  // that it is to have
  };
  struct Status {
    std::vector<Lost> lost;             // where overrides may be missing
    std::string maxmemory_policy;       // of the first Redis whose policy is not noeviction, or else noeviction
    std::vector<Error> not_answered{};  // one error for each primary of a Cluster that did not answer
  };
  // Error: no Redis has answered.
  Result<Status> read();

  // Call begin() before all overrides are written again, end() afterwards. begin() takes those out of status.lost that
  // refuse writes now, and fails if no other is left. end() fails if a Redis lost its data in between.
  Result<> begin(Status& status);
  Result<> end(const Status& status);

 private:
  RedisLink& link_;
  std::map<std::string, std::uint64_t> slots_;  // by key, as last read
};

}  // namespace sluice::server::counters
