// Both implementations side by side, on one clock that the test sets: the production script in a real server, and
// memory.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/limiter/memory_store.hpp"
#include "common/limiter/script_calls.hpp"
#include "tests/integration/equivalence/redis_link.hpp"
#include "tests/integration/support/driven_clock/driven_clock.hpp"
#include "tests/integration/support/redis_server.hpp"

namespace sluice::test {

// The server all named tests share. Each test has keys of its own.
class SharedServer {
 public:
  static SharedServer& instance();

  DrivenClock& clock() { return clock_; }
  RedisLink& link() { return *link_; }

 private:
  SharedServer();

  TemporaryFolder folder_;
  DrivenClock clock_;
  RedisServer server_;
  std::unique_ptr<RedisLink> link_;
};

// One plan and its counters. Every call goes to both stores and must be answered alike, in every field (checked here).
class BothStores {
 public:
  explicit BothStores(std::vector<Limit> limits, std::optional<Micros> max_delay = {});

  // Seconds since the start of the test's time line.
  void at(double seconds);
  void at_us(std::int64_t us) { clock().set(start_ + us); }
  void at_instant(std::int64_t epoch_us) { clock().set(epoch_us); }
  DrivenClock& clock() { return SharedServer::instance().clock(); }
  RedisLink& link() { return SharedServer::instance().link(); }

  // The same cost for every limit, explained.
  limiter::Outcome check(std::uint32_t cost);
  limiter::Outcome check(const std::vector<std::uint32_t>& costs);
  // A check that brings a limit for each rule, or 0 for none.
  limiter::Outcome check_bringing(const std::vector<std::int64_t>& limits, std::uint32_t cost);
  // What the plan's only limit says.
  LimitReport check_one(std::uint32_t cost) { return check(cost).limits[0]; }
  LimitReport check_one_bringing(std::int64_t limit, std::uint32_t cost) {
    return check_bringing({limit}, cost).limits[0];
  }

  // The lease that the last check took of limit `rule`.
  limiter::LeaseRef lease(std::size_t rule = 0) const;
  limiter::LeaseOutcome release(const limiter::LeaseRef& lease);
  limiter::LeaseOutcome renew(const limiter::LeaseRef& lease);

  void replace_plan(std::vector<Limit> limits, std::optional<Micros> max_delay = {});
  void put_overrides(const std::vector<limiter::OverrideEntry>& entries);
  void reset();
  const limiter::Program& program() const { return program_; }
  const std::string& key() const { return key_; }

 private:
  limiter::Outcome check(const limiter::Program& program, const std::vector<std::uint32_t>& costs);
  std::string group_key(std::size_t group) const;
  const redis::Reply& exchange(const std::string& command);

  std::int64_t start_;
  limiter::MemoryCounters memory_;
  limiter::Program program_;
  std::string key_;
  std::uint64_t draws_ = 0;
  limiter::Call last_;
};

// A limit with the fields most tests name; set the others.
Limit bucket(std::int64_t capacity, std::int64_t units, std::int64_t per_us,
             Algorithm algorithm = Algorithm::token_bucket);
Limit window(Algorithm algorithm, std::int64_t limit, Micros length);
Limit quota(std::int64_t limit, Period period, std::optional<WallTime> anchor = {});
Limit leases(std::int64_t limit, Micros ttl);

}  // namespace sluice::test
