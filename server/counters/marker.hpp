// Detects that Redis lost overrides, for the publisher. The marker is a key whose value is the run id of the Redis that
// it was written to. A Redis gets a new run id with every start. In a Cluster each primary has a marker.
//
// The marker is missing after FLUSHALL or an empty start, and where a primary has just got its first slots. After a
// restart or a failover, which may lose the last writes, it holds another run id than that of the present Redis.
#pragma once

#include <string>
#include <vector>

#include "common/base/error.hpp"
#include "server/counters/redis_link.hpp"

namespace sluice::server::counters {

class Marker {
 public:
  explicit Marker(RedisLink& link) : link_(link) {}

  struct Lost {  // a Redis without its marker
    std::string key;
    std::string run_id;
  };
  struct Status {
    std::vector<Lost> lost;             // where overrides may be missing
    std::string maxmemory_policy;       // of the first Redis whose policy is not noeviction, or else noeviction
    std::vector<Error> not_answered{};  // one for each primary of a Cluster that did not answer; the others did
  };
  // Error: no Redis has answered.
  Result<Status> read();

  // Call begin() before all overrides are written again, end() afterwards. end() fails if Redis lost its data in
  // between.
  Result<> begin(const Status& status);
  Result<> end(const Status& status);

 private:
  RedisLink& link_;
};

}  // namespace sluice::server::counters
