// A plan compiled for judging. Both implementations of the algorithms read it: lua/check/ in Redis, and algorithms/ in
// memory. Immutable; all threads share it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/domain/plan.hpp"
#include "common/limiter/kind.hpp"

namespace sluice::limiter {

// One limit with its numbers as the algorithms use them: whole numbers below 2^53, in doubles as in Lua.
struct Rule {
  Kind kind = Kind::token_bucket;
  double limit = 0;  // capacity or limit, in units
  // The meaning of p and q depends on the kind; times are in µs:
  //   buckets         the rate: p units per q
  //   windows         p: the window; q: for sliding_window the tick (sliding_window.hpp), for log the counter id
  //   lease           p: lease_ttl
  //   quota           p and q: 0 here; each call brings the bounds of its period, [p, q)
  double p = 0;
  double q = 0;
  std::uint32_t counter_id = 0;  // see the function counter_id()
  std::uint32_t name_id = 0;     // see the function name_id()
  std::uint8_t group = 0;        // index into Program::groups
  bool keeps_entries = false;    // this one and the next two are copies from the kind's KindTraits
  bool takes_leases = false;
  bool periodic = false;
};

// The limits that share one identity, and so one counter key. The limits that use only the policy's key_by, if there
// are any, are group 0. Each limit that adds `key_by` dimensions is a group of its own. A state is what the counter key
// of a group holds in Redis (lua/check/frame.lua).
struct Group {
  std::uint8_t first = 0;  // its rules are [first, first + count): rules are ordered by group
  std::uint8_t count = 0;
  std::vector<DimensionRef> added;  // dimensions beyond the policy's key_by
  std::uint32_t layout = 0;         // hash of the counter ids in their order; never 0
  std::string state_format;         // format for Lua's struct.unpack: layout, header, time, values
  std::string untouched;            // a packed state without charges
  std::string ids;                  // packed counter ids, the end of a state
};

struct Program {
  std::vector<Rule> rules;
  std::vector<Limit> limits;                // limits[i] is what rules[i] was compiled from
  std::vector<std::uint8_t> plan_position;  // plan_position[i]: index of rules[i] in the plan
  std::vector<Group> groups;                // each has at least one rule
  double max_delay_us = 0;                  // max_delay of action `delay`; 0 for other actions
  std::uint8_t leases = 0;                  // how many rules take leases
  std::uint8_t collections = 0;             // how many rules keep entries: logs and leases
  bool has_quotas = false;

  // The script's parameters (lua/check/frame.lua), packed with costs of 0 and without `explain`. cost_offsets[i]: where
  // in `packed` the cost of rule i begins; a cost has 4 bytes. If rule i is a quota, the bounds of its period, 8 bytes
  // each, begin at cost_offsets[i] + kPeriodBehindCost.
  std::string packed;
  std::string packed_format;  // format of `packed` for Lua's struct.unpack
  std::vector<std::uint32_t> cost_offsets;
  std::string script_tail;  // the further arguments that are the same in every call, in Redis' protocol (RESP)
};
inline constexpr std::size_t kExplainOffset = 1;  // where `explain` is in Program::packed
inline constexpr std::size_t kPeriodBehindCost = 12;

// `max_delay`: that of action `delay`, which lets buckets go into debt; nullopt for every other action.
// REQUIRES: limits validated by the domain (1 to 16, ranges, unique names).
Program compile(const std::vector<Limit>& limits, std::optional<Micros> max_delay);

// Identifies the counter of a limit within its plan. A limit with another name, algorithm, window, alignment, period or
// anchor has another counter. The low two bits are the number of values that this counter has in the state.
std::uint32_t counter_id(const Limit& limit);

// Identifies the limit that an override is for. It depends on name, algorithm and alignment, so that an override does
// not apply to a later limit with the same name but another algorithm or alignment.
std::uint32_t name_id(const Limit& limit);

}  // namespace sluice::limiter
