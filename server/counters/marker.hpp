// Detects that Redis lost overrides. The marker is a key that is intact only while Redis holds all overrides.
//
// Its value is the run id of the Redis it was written to, which changes with every start. So the marker is missing
// after FLUSHALL or an empty start. After a restart or a failover, which may lose the last writes, the run ids differ.
#pragma once

#include <string>

#include "common/base/error.hpp"
#include "server/counters/redis_link.hpp"

namespace sluice::server::counters {

class Marker {
 public:
  explicit Marker(RedisLink& link) : link_(link) {}

  struct Status {
    bool intact = false;  // Redis holds all overrides
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
