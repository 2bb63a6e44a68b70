// Detects that Redis lost overrides, for the publisher. The marker is a key whose value is the run id of the Redis that
// it was written to. A Redis gets a new run id with every start.
//
// The marker is missing after FLUSHALL or an empty start. After a restart or a failover, which may lose the last
// writes, it holds another run id than that of the present Redis.
#pragma once

#include <string>

#include "common/base/error.hpp"
#include "server/counters/redis_link.hpp"

namespace sluice::server::counters {

class Marker {
 public:
  explicit Marker(RedisLink& link) : link_(link) {}

  struct Status {
    bool intact = false;  // the marker holds the present run id, so Redis holds all overrides
    std::string run_id;
    std::string maxmemory_policy;
  };
  Result<Status> read();

  // Call begin() before all overrides are written again, end() afterwards. end() fails if Redis lost its data in
  // between.
  Result<> begin(const Status& status);
  Result<> end();

 private:
  RedisLink& link_;
};

}  // namespace sluice::server::counters
