// The interface of a counter store. RedisStore runs scripts in Redis; MemoryStore gives the same answers in C++.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/domain/decision.hpp"
#include "common/limiter/counter_hash.hpp"
#include "common/limiter/program.hpp"

namespace sluice::limiter {

using LeaseDraw = std::array<unsigned char, 16>;  // random bits that name a call's leases

// If calls must wait, tenants take turns, and so do a tenant's API keys.
struct Origin {
  std::uint64_t tenant = 0;   // a hash of its id
  std::uint64_t api_key = 0;  // a hash of its id; 0: no API key
  bool batch = false;         // the call has the longer queue wait of batches
};

// One rulebook to judge for one check. The caller keeps the Call until the outcome has arrived.
struct Call {
  const Program* program = nullptr;
  std::vector<std::string> keys;                         // keys[g] is for program->groups[g]; further keys are ignored
  CounterHash first_hash;                                // of keys[0]; or empty: a store that needs it takes it itself
  std::array<std::uint32_t, kMaxLimitsPerPlan> costs{};  // costs[i] is for program->rules[i]
  bool explain = false;                                  // fill Outcome::limits
  LeaseDraw draw{};  // REQUIRES: random, if a limit that takes leases has a cost above 0
  Origin origin;
};

// A call's charge has reached this share of a quota.
struct QuotaMark {
  std::uint8_t rule = 0;  // an index into Program::rules
  std::uint8_t percent = 0;
  std::int64_t limit = 0;
  std::int64_t used = 0;  // with the charge

  bool operator==(const QuotaMark&) const = default;
};

struct Outcome {
  bool allowed = true;
  std::int64_t now_us = 0;
  std::uint8_t binding = 0;         // the binding limit, an index into Program::rules
  LimitReport report;               // of the binding limit, with the longest retry_after_us and delay_us of all limits
  std::vector<LimitReport> limits;  // by rule; empty without Call::explain
  std::vector<QuotaMark> marks{};   // those of kQuotaMarks that the call's charge reached
  std::vector<std::int64_t> lease_ttls_us{};  // see lease_ttl_us()

  // The ttl of the lease that the call took under a rule; 0: none.
  std::int64_t lease_ttl_us(std::size_t rule) const { return rule < lease_ttls_us.size() ? lease_ttls_us[rule] : 0; }
  void took_lease(std::size_t rule, std::int64_t ttl_us) {
    if (lease_ttls_us.size() <= rule) lease_ttls_us.resize(rule + 1);
    lease_ttls_us[rule] = ttl_us;
  }

  void clear() {  // keeps the memory
    allowed = true;
    now_us = 0;
    binding = 0;
    report = {};
    limits.clear();
    marks.clear();
    lease_ttls_us.clear();
  }
};

// Why a store could not answer. The metric `sluice_redis_errors_total` has these names in its label `class`.
enum class StoreFault : std::uint8_t {
  timeout,
  disconnected,
  unavailable,
  breaker_open,
  overload,       // not sent in time, because its tenant asks for more than its share
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
  no_function,  // Redis does not have the library of functions that this agent calls
  clock         // Redis' time was outside a quota's period, also in the second attempt
};
inline constexpr std::size_t kStoreFaults = 20;
std::string_view to_string(StoreFault);
// A sentence for callers: what happened, without addresses or secrets.
std::string_view describe(StoreFault);

struct StoreError {
  StoreFault fault = StoreFault::disconnected;
  bool executed_unknown = false;  // the call may have been charged
};
template <class T>
using StoreResult = std::expected<T, StoreError>;

struct LeaseRef {
  std::string counter_key;
  std::string limit_name;
  std::string member;  // made by lease_member() in algorithms/lease_set.hpp
};

struct LeaseOutcome {
  bool live = false;               // at least one lease was live
  std::int64_t expires_at_us = 0;  // after a renewal: the earliest new expiry
};

// The override of one limit under one counter key.
struct OverrideEntry {
  std::uint32_t name_id = 0;     // as Rule::name_id
  std::uint32_t counter_id = 0;  // if the override replaces the window: counter_id() with the new window; else 0
  double expires_us = 0;         // wall clock of the store; infinity: never
  // Numbers that replace those of the Rule; -1 replaces nothing.
  double limit = -1;
  double p = -1;
  double q = -1;

  bool operator==(const OverrideEntry&) const = default;
};

class JudgeListener {
 public:
  virtual void judged(StoreResult<Outcome>&& result) = 0;

 protected:
  ~JudgeListener() = default;
};
struct RulebookCall {
  const Call* call = nullptr;
  JudgeListener* listener = nullptr;
  bool enforced = true;  // false: the rulebook of a shadow policy
};
// REQUIRES: the enforced calls come first.
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

// Thread: each worker thread has its own store object. Each listener is called exactly once, on the worker's thread,
// possibly before the function that takes the listener returns. If the function throws std::bad_alloc, no listener is
// called afterwards; an allocation that fails later is an error of the call.
class CounterStore {
 public:
  virtual ~CounterStore() = default;
  virtual void judge(const Call& call, JudgeListener& listener) = 0;
  // Judges and fills in `out`, which keeps its memory. Returns false if the store cannot answer at once. Then nothing
  // was asked: call judge().
  virtual bool judge_at_once(const Call& /*call*/, StoreResult<Outcome>& /*out*/) { return false; }
  // Judges all rulebooks of one decision. If all enforced ones admit, all of them are charged; otherwise none is.
  // In each outcome, `allowed` says whether this one rulebook admits. Each shadow is judged and charged by itself.
  // Each Call and each listener must live until all listeners were called.
  // REQUIRES: the enforced rulebooks come first; their keys share one hash tag, and no two of these keys are equal.
  virtual void judge_all(std::span<const RulebookCall> calls) = 0;
  // Judges each rulebook by itself, one after the other, as judge() does.
  // Each Call and each listener must live until all listeners were called.
  // REQUIRES: RulebookCall::enforced is false in each. The caller may reuse `calls` once the last listener is called.
  virtual void judge_each(std::span<const RulebookCall> calls);
  virtual void release(std::span<const LeaseRef> leases, const Origin& origin, LeaseListener& listener) = 0;
  virtual void renew(std::span<const LeaseRef> leases, const Origin& origin, LeaseListener& listener) = 0;
  // A limit without an entry loses its override.
  virtual void put_overrides(std::string_view counter_key, std::span<const OverrideEntry> entries,
                             OverrideListener& listener) = 0;
  // Whether the store answers, but has more work than it can do at once.
  virtual bool busy(std::chrono::steady_clock::time_point) const { return false; }
  // On how many servers the counters are.
  virtual std::size_t servers() const { return 1; }
  // "closed", "half_open" or "open"; "" if the store has no breaker.
  virtual std::string_view breaker() const { return {}; }
};

}  // namespace sluice::limiter
