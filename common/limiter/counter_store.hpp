// The interface of a counter store. Its two implementations give the same answers: RedisStore runs scripts in Redis,
// and MemoryStore does the same in C++.
#pragma once

#include <array>
#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/domain/decision.hpp"
#include "common/limiter/program.hpp"

namespace sluice::limiter {

using LeaseDraw = std::array<unsigned char, 16>;  // 128 random bits that the agent draws: they name a call's leases

// The tenant and the API key that a call is for. If calls must wait, tenants take turns, and so do a tenant's API keys.
struct Origin {
  std::uint64_t tenant = 0;   // a hash of its id
  std::uint64_t api_key = 0;  // a hash of its id; 0: no API key
  bool batch = false;         // the call is for one check of a batch, and may wait longer
};

// One rulebook to judge for one check. The caller owns the Call and keeps it until the outcome has arrived. Reuse it
// for later checks, to avoid allocations.
struct Call {
  const Program* program = nullptr;
  std::vector<std::string> keys;                         // keys[g] is for program->groups[g]; further keys are ignored
  std::array<std::uint32_t, kMaxLimitsPerPlan> costs{};  // by rule: costs[i] is for program->rules[i]
  bool explain = false;                                  // fill Outcome::limits
  LeaseDraw draw{};  // REQUIRES: random, if a limit that takes leases has a cost above 0
  Origin origin;
};

// The store's verdict on all limits of a call.
struct Outcome {
  bool allowed = true;
  std::int64_t now_us = 0;
  std::uint8_t binding = 0;         // the binding limit, an index into Program::rules
  LimitReport report;               // of the binding limit, but retry_after_us and delay_us: the longest of all limits
  std::vector<LimitReport> limits;  // by rule; empty without Call::explain
  std::array<std::int64_t, kMaxLimitsPerPlan> lease_ttl_us{};  // by rule: ttl of the lease that this call took, or 0
};

// Why a store could not answer. The metric `sluice_redis_errors_total` has these names in its label `class`.
enum class StoreFault : std::uint8_t {
  timeout,
  disconnected,
  unavailable,
  breaker_open,
  overload,       // not sent in time, although its tenant had a turn: the tenant asks for more than its share
  queue_timeout,  // not sent in time, because its tenant had no turn, or because Redis is too slow
  read_only,
  loading,
  busy,
  out_of_memory,
  no_replicas,
  misconfigured,
  cluster_down,
  authentication,
  wrong_type,
  script,
  protocol,
  no_script,
  clock  // Redis' time was outside a quota's period, and again after the call was sent with the new period
};
inline constexpr std::size_t kStoreFaults = 19;
std::string_view to_string(StoreFault);

struct StoreError {
  StoreFault fault = StoreFault::disconnected;
  bool executed_unknown = false;  // the call may have been charged
};
template <class T>
using StoreResult = std::expected<T, StoreError>;

// Identifies one lease: the limit that it counts under, and its name among the leases of that limit.
struct LeaseRef {
  std::string counter_key;  // of the limit's group
  std::string limit_name;
  std::string member;  // the lease's name: lease_member() in algorithms/lease_set.hpp
};

struct LeaseOutcome {
  bool live = false;               // at least one lease was live, and has been released or renewed
  std::int64_t expires_at_us = 0;  // after a renewal: the earliest new expiry
};

// The override of one limit under one counter key. p and q: see Rule in program.hpp. -1 in limit, p or q: the override
// does not replace this number.
struct OverrideEntry {
  std::uint32_t name_id = 0;     // the limit, as Rule::name_id
  std::uint32_t counter_id = 0;  // if the override replaces the window: counter_id() with the new window; else 0
  double expires_us = 0;         // wall clock of the store; infinity: never
  double limit = -1;
  double p = -1;
  double q = -1;

  bool operator==(const OverrideEntry&) const = default;
};

class JudgeListener {
 public:
  virtual void judged(const StoreResult<Outcome>& result) = 0;

 protected:
  ~JudgeListener() = default;
};
// One of several rulebooks that are judged for one decision. Each rulebook has counters of its own.
struct RulebookCall {
  const Call* call = nullptr;
  JudgeListener* listener = nullptr;
  bool enforced = true;  // false: the rulebook of a shadow policy
};
// How many of the calls are enforced. REQUIRES: the enforced ones come first.
std::size_t enforced_count(std::span<const RulebookCall> calls);

class LeaseListener {
 public:
  virtual void settled(const StoreResult<LeaseOutcome>& result) = 0;

 protected:
  ~LeaseListener() = default;
};
class OverrideListener {
 public:
  virtual void stored(const StoreResult<void>& result) = 0;

 protected:
  ~OverrideListener() = default;
};

// Thread: each worker thread has its own store object; memory stores share their counters. Each listener is called
// exactly once, on the worker's thread, possibly before the function that takes the listener returns.
class CounterStore {
 public:
  virtual ~CounterStore() = default;
  virtual void judge(const Call& call, JudgeListener& listener) = 0;
  // Judges all rulebooks of one decision. If all enforced ones admit, all of them are charged; otherwise none is.
  // Outcome::allowed of each rulebook says whether its own limits admit. A shadow is judged and charged by itself, and
  // its failure does not affect the other rulebooks.
  // Each Call and each listener must live until all listeners were called. The array behind `calls` may be freed when
  // this function returns.
  // REQUIRES: the enforced rulebooks come first. All their keys share one hash tag, and no two of the keys are equal.
  virtual void judge_all(std::span<const RulebookCall> calls) = 0;
  virtual void release(std::span<const LeaseRef> leases, const Origin& origin, LeaseListener& listener) = 0;
  virtual void renew(std::span<const LeaseRef> leases, const Origin& origin, LeaseListener& listener) = 0;
  // Replaces all overrides of one counter key. A limit without an entry loses its override.
  virtual void put_overrides(std::string_view counter_key, std::span<const OverrideEntry> entries,
                             OverrideListener& listener) = 0;
  // The state of the circuit breaker: "closed", "half_open" or "open". "": the store has none.
  virtual std::string_view breaker() const { return {}; }
};

}  // namespace sluice::limiter
