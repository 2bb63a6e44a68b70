// Detects that Redis lost overrides, for the publisher. The marker is a key in Redis. Its value is the run id of the
// Redis that it was written to; a Redis gets a new run id with every start. In a Cluster each primary has a marker,
// and the value also has a hash of the primary's slots.
//
// The marker is missing after FLUSHALL, after a start without data, and on a primary that has just got its first slots.
// A restart or a failover may lose the last writes: afterwards the marker has the run id of the former Redis. After a
// primary got slots from a node that died, the marker has the hash of the former slots.
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
    std::string value;  // the value that the marker should have
  };
  struct Status {
    std::vector<Lost> lost;             // where overrides may be missing
    std::string maxmemory_policy;       // noeviction if every Redis has it, else the first other policy
    std::vector<Error> not_answered{};  // one error for each primary of a Cluster that did not answer
  };
  // Reads the markers. Error: no Redis has answered.
  Result<Status> read();

  // Call begin() before all overrides are written again, end() afterwards. begin() writes the new markers under other
  // keys. It removes from status.lost each Redis that accepts no writes now, and fails if no Redis remains. end()
  // renames the new markers; it fails if a Redis lost its data in between.
  Result<> begin(Status& status);
  Result<> end(const Status& status);

 private:
  RedisLink& link_;
  std::map<std::string, std::uint64_t> slots_;  // NodeKey::slots at the last read(), by the marker's key
};

}  // namespace sluice::server::counters
