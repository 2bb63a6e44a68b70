// The state of a limiter for people: the level of a bucket, the counts of windows, the entries of a log, leases. Reads
// what lua/state.lua answers; lua/check/ describes what it finds there.
//
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/limiter/program.hpp"

namespace sluice::server::playground {

inline constexpr std::size_t kMostEntries = 200;  // that one limit shows

// The Redis command. `keys`: the counter key of each group of the program; all of them share a hash tag.
std::vector<std::string> state_command(const limiter::Program& program, std::span<const std::string> keys);

// Writes {"now_us","limits":[…]}, the limits in the order of the plan. Each has its name, algorithm, unit, limit,
// whether an override is in force, and what its counter holds at `now_us`:
//   bucket   {"used","units_per_second"}                used: before anything leaves after now_us
//   window   {"count","from_us","window_us"}            fixed_window; a window that ended has the count 0
//   sliding  {"previous","count","from_us","window_us"}
//   log      {"entries":[[at_us,units],…],"more","window_us"}
//   leases   {"leases":[[expires_at_us,units],…],"more","ttl_us"}
//   quota    {"count","from_us","until_us"}
// Returns nullopt if the reply is not one of the script.
std::optional<std::string> state_json(const limiter::Program& program, std::span<const std::string> reply);

}  // namespace sluice::server::playground
