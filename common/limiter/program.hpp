// A plan compiled for the algorithms in lua/check/ and in algorithms/. Immutable; all threads share it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/domain/plan.hpp"
#include "common/limiter/kind.hpp"

namespace sluice::limiter {

// One limit, with its numbers as whole numbers below 2^53 in doubles, as in Lua.
struct Rule {
  Kind kind = Kind::token_bucket;
  double limit = 0;  // in units
  // The meaning of p and q depends on the kind; times are in µs:
  //   buckets         the rate: p units per q
  //   windows         p: the window; q: for sliding_window the tick (sliding_window.hpp), for log the counter id
  //   lease           p: lease_ttl
  //   quota           0 here; each call passes p and q: the bounds of the period, [p, q)
  double p = 0;
  double q = 0;
  std::uint32_t counter_id = 0;
  std::uint32_t name_id = 0;
  std::uint8_t group = 0;  // index into Program::groups
  // Copied from KindTraits (traits.hpp):
  bool keeps_entries = false;
  bool takes_leases = false;
  bool periodic = false;
  bool counts_requests = true;  // the limit's unit is "requests", which most have
  bool brought = false;         // the check brought `limit`; the limit of a stored override does not replace it
};

// The limits that share one counter key. Limits that use only the policy's key_by are group 0. Each limit that adds
// dimensions is a group of its own. A state is what the counter key holds in Redis (lua/check/frame.lua).
struct Group {
  std::uint8_t first = 0;  // the group's rules are [first, first + count)
  std::uint8_t count = 0;
  std::vector<DimensionRef> added;  // dimensions beyond the policy's key_by
  std::uint32_t layout = 0;         // hash of the counter ids in their order; never 0
  std::string state_format;         // format for Lua's struct.unpack: layout, header, time, values
  std::string untouched;            // a packed state without charges
  std::string ids;                  // packed counter ids: the last part of a state
};

struct Program {
  std::vector<Rule> rules;                  // ordered by group
  std::vector<Limit> limits;                // limits[i] is what rules[i] was compiled from
  std::vector<std::uint8_t> plan_position;  // by rule: index in the plan
  std::vector<Group> groups;
  double max_delay_us = 0;       // of action `delay`; 0 for other actions
  std::uint8_t leases = 0;       // number of rules that take leases
  std::uint8_t collections = 0;  // number of rules that keep entries
  bool has_quotas = false;
  bool is_single = false;                   // one limit, and its counter is a few values that come without a period
  std::chrono::microseconds redis_time{0};  // that a check takes, by the table of plan_cost.hpp

  // The script's parameters (lua/check/frame.lua), packed with costs of 0 and without `explain`. The cost of rule i, 4
  // bytes, begins at cost_offsets[i]. A quota's period, two bounds of 8 bytes, begins kPeriodBehindCost bytes later.
  std::string packed;
  std::string packed_format;  // for Lua's struct.unpack
  std::vector<std::uint32_t> cost_offsets;
  std::string script_tail;  // the further arguments, the same in every call, in Redis' protocol (RESP)
};
inline constexpr std::size_t kExplainOffset = 1;  // in Program::packed
inline constexpr std::size_t kPeriodBehindCost = 12;

// `max_delay`: of action `delay`, which lets buckets go into debt; nullopt for every other action.
// REQUIRES: valid limits (1 to 16, ranges, unique names).
Program compile(const std::vector<Limit>& limits, std::optional<Micros> max_delay);

// The plan's program for one check that brings limits of its own. REQUIRES: limits[i] is 0 if the check brings no limit
// for rule i, else a number that this limit may have (number_fault).
Program with_limits(const Program& whole, std::span<const std::int64_t> limits);

// Identifies a counter within its plan, by name, algorithm, window, alignment, period and anchor of the limit. The low
// two bits are the number of the counter's values in the state.
std::uint32_t counter_id(const Limit& limit);

// Identifies the limit that an override changes, by name, algorithm and alignment. Never 0, which marks parked counters
// (lua/check/frame.lua).
std::uint32_t name_id(const Limit& limit);

}  // namespace sluice::limiter
