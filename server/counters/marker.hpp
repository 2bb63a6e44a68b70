// Tells when Redis lost what was written into it: a key that only stands there while all overrides do.
//
// Its value is the run id of the Redis it was written to, which changes with every start: so it is missing after
// FLUSHALL or an empty start, and another after a restart or a failover, where the last writes may be lost too.
#pragma once

#include <string>

#include "common/base/error.hpp"
#include "server/counters/redis_link.hpp"

namespace sluice::server::counters {

class Marker {
 public:
  explicit Marker(RedisLink& link) : link_(link) {}

  struct Look {
    bool intact = false;
    std::string run_id;
    std::string maxmemory_policy;
  };
  Result<Look> look();

  // Everything is about to be written; and was. end() fails where Redis lost its data in between.
  Result<> begin(const Look& look);
  Result<> end();

 private:
  RedisLink& link_;
};

}  // namespace sluice::server::counters
