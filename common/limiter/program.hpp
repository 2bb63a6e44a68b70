// A plan compiled for judging: what both implementations of the algorithms (lua/check/ in Redis, algorithms/ in memory)
// read. Immutable and shared by all workers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/domain/plan.hpp"
#include "common/limiter/kind.hpp"

namespace sluice::limiter {

// One limit with the numbers as the arithmetic uses them; all are integers below 2^53, kept in doubles as Lua does.
struct Rule {
  Kind kind = Kind::token_bucket;
  double limit = 0;  // capacity or limit, in units
  // What p and q are depends on the kind (algorithms/): a rate, a window in µs, …
  double p = 0;
  double q = 0;
  // Names the counter: name, algorithm and window; another id is another counter. Low two bits: doubles in the state.
  std::uint32_t counter_id = 0;
  std::uint32_t name_id = 0;   // the limit's name and algorithm: how an override finds it
  std::uint8_t group = 0;      // index into Program::groups
  bool keeps_entries = false;  // these three as the kind's traits say
  bool takes_leases = false;
  bool periodic = false;
};

// The limits that share one identity and so one state key. Group 0 is the policy's own identity; a limit that adds
// `key_by` dimensions is a group of its own.
struct Group {
  std::uint8_t first = 0;  // its rules are [first, first + count): rules are ordered by group
  std::uint8_t count = 0;
  std::vector<DimensionRef> added;  // dimensions beyond the policy's key_by
  std::uint32_t layout = 0;         // names the order of counter ids; never 0
  std::string state_format;         // struct format of <layout, header, time, values…>
  std::string untouched;            // a packed state in which nothing is spent
  std::string ids;                  // packed counter ids, the state's tail
};

struct Program {
  std::vector<Rule> rules;
  std::vector<Limit> limits;                // limits[i] is what rules[i] was compiled from
  std::vector<std::uint8_t> plan_position;  // plan_position[i]: where rules[i] stands in the plan
  std::vector<Group> groups;                // none is empty
  double max_delay_us = 0;                  // action delay, else 0
  std::uint8_t leases = 0;                  // how many rules take leases
  std::uint8_t collections = 0;             // how many keep entries, leases too
  bool has_quotas = false;

  // The script's parameters (lua/check.lua) packed for no cost and unexplained, their struct format, and where in them
  // each rule's cost stands (4 bytes; its period's bounds follow 8 bytes behind, 8 bytes each).
  std::string packed;
  std::string packed_format;
  std::vector<std::uint32_t> cost_offsets;
  std::string script_tail;  // the arguments behind the parameters that no call changes, as RESP
};
inline constexpr std::size_t kExplainOffset = 1;
inline constexpr std::size_t kPeriodBehindCost = 12;

// REQUIRES: limits validated by the domain (1 to 16, ranges, unique names).
// `max_delay` is that of action `delay`, which lets buckets go into debt; absent for every other action.
Program compile(const std::vector<Limit>& limits, std::optional<Micros> max_delay);

// Names the counter of a limit within its plan: another name, algorithm, window, alignment, period or anchor is another
// counter. The low two bits say how many values it keeps in the state.
std::uint32_t counter_id(const Limit& limit);

// Names a limit to overrides: its name, algorithm and alignment, so that numbers and counters meant for one never reach
// another.
std::uint32_t name_id(const Limit& limit);

}  // namespace sluice::limiter
