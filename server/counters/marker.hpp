// Detects that Redis lost overrides. The marker is a key in Redis. Its value is the run id of that Redis, which is new
// with every start. In a Cluster each primary has a marker, and the value also has a hash of the primary's slots.
//
// The marker is missing after FLUSHALL, after a start without data, and on a primary that has just got its first slots.
// After a restart or a failover, the marker has the old run id. After a primary got slots from a node that died, the
// marker has the old hash.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/base/error.hpp"
#include "server/counters/redis_link.hpp"

namespace sluice::server::counters {

// The name of marker `number`, from 0. A primary has the first marker that is in one of its slots. Never a counter key,
// because every hash tag of a counter key contains a '|'.
std::string marker_key(unsigned number);

class Marker {
 public:
  explicit Marker(RedisLink& link) : link_(link) {}

  // A marker that is missing or has another value than `value`.
  struct Lost {
    std::string key;
    std::string value;
  };
  struct Status {
    std::vector<Lost> lost;
    std::string maxmemory_policy;       // noeviction if every Redis has it, else the first other policy
    std::vector<Error> not_answered{};  // one error for each primary of a Cluster that did not answer
  };
  // Fails if no Redis has answered.
  Result<Status> read();

  // Call begin(), write all overrides again, then call end(). begin() writes the new markers under other keys. It
  // removes from status.lost the marker of each Redis that accepts no writes, and fails if no marker remains. end()
  // renames the new markers; it fails if a Redis lost its data after begin().
  Result<> begin(Status& status);
  Result<> end(const Status& status);

 private:
  RedisLink& link_;
  std::map<std::string, std::uint64_t> slots_;  // NodeKey::slots at the last read(), by the marker's key
};

}  // namespace sluice::server::counters
