// Where counters live. Two implementations give the same answers: Redis (a script) and memory (C++).
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

using LeaseDraw = std::array<unsigned char, 16>;  // 128 random bits, drawn by the agent

// One decision to make. Owned by the caller and alive until the outcome is delivered; reuse keeps its memory.
struct Call {
  const Program* program = nullptr;
  std::vector<std::string> keys;  // one state key for each group (more are left unread); collections derive theirs
  std::array<std::uint32_t, kMaxLimitsPerPlan> costs{};  // by rule
  bool explain = false;
  LeaseDraw draw{};  // REQUIRES: random where the program has leases and a cost of theirs is above 0
};

// What the store found. `binding` is an index into Program::rules.
struct Outcome {
  bool allowed = true;
  std::int64_t now_us = 0;
  std::uint8_t binding = 0;
  LimitReport report;               // the binding limit; retry_after_us and delay_us are the decision's
  std::vector<LimitReport> limits;  // by rule; only when explained
  std::array<std::int64_t, kMaxLimitsPerPlan> lease_ttl_us{};  // by rule: of the leases this call took, else 0
};

// Why a store could not answer; the label of `sluice_redis_errors_total{class}`.
enum class StoreFault : std::uint8_t {
  timeout,
  disconnected,
  unavailable,
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
  clock
};
inline constexpr std::size_t kStoreFaults = 16;
std::string_view to_string(StoreFault);

struct StoreError {
  StoreFault fault = StoreFault::disconnected;
  bool executed_unknown = false;  // the call may have been charged
};
template <class T>
using StoreResult = std::expected<T, StoreError>;

// One lease as its id describes it: under which collection key, and as which member.
struct LeaseRef {
  std::string state_key;  // the group's state key
  std::string limit_name;
  std::string member;  // draw ‖ weight ‖ ttl, as the script stores it
};

struct LeaseOutcome {
  bool live = false;               // at least one was live: released, or renewed
  std::int64_t expires_at_us = 0;  // renew: the earliest of the renewed
};

// Replaces numbers of one limit in the state of one key. -1 leaves a number as it is.
struct OverrideEntry {
  std::uint32_t name_id = 0;
  std::uint32_t counter_id = 0;  // of the counter under the overridden window; 0: the window stays
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
// One rulebook of a decision that judges several. Each rulebook has counters of its own.
struct RulebookCall {
  const Call* call = nullptr;
  JudgeListener* listener = nullptr;
  bool enforced = true;  // false: a shadow
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

// Thread: each worker has its own store object; memory stores share their counters. Listeners are told exactly once,
// on the worker's thread, possibly before the call returns.
class CounterStore {
 public:
  virtual ~CounterStore() = default;
  virtual void judge(const Call& call, JudgeListener& listener) = 0;
  // Judges all rulebooks of one decision. If all enforced ones admit, all of them are charged; otherwise none is. Their
  // Outcome::allowed says whether this rulebook's own limits admit. A shadow is judged and charged by itself, and its
  // failure fails no other rulebook.
  // The calls and listeners live until the last listener was told. `calls` itself may go when this returns.
  // REQUIRES: the enforced ones come first, their keys share a hash tag, and none of these keys stands twice.
  virtual void judge_all(std::span<const RulebookCall> calls) = 0;
  virtual void release(std::span<const LeaseRef> leases, LeaseListener& listener) = 0;
  virtual void renew(std::span<const LeaseRef> leases, LeaseListener& listener) = 0;
  // All overrides of one key; limits not named lose theirs.
  virtual void put_overrides(std::string_view state_key, std::span<const OverrideEntry> entries,
                             OverrideListener& listener) = 0;
};

}  // namespace sluice::limiter
